# Needs Go 1.26 or newer and Python 3.11 or newer; everything else is fetched into build/out, which git ignores.

.DEFAULT_GOAL := help
.PHONY: help build test fuzz lint fmt

GO ?= go
OUT := build/out
SOURCES := shared scorers filter xds e2e

# How long each fuzz target runs.
FUZZTIME ?= 10s

# The linters are one binary, pinned by build/lint/go.mod and built once per version of itself and of Go: about two minutes
# on two cores.
LINT := $(OUT)/tools/golangci-lint-$(shell awk '$$1 == "github.com/golangci/golangci-lint/v2" {print $$2}' build/lint/go.mod)-$(shell $(GO) env GOVERSION)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## compile agent and filter into build/out
	CGO_ENABLED=0 $(GO) build -trimpath -o $(OUT)/zerohop ./xds/cmd/zerohop
	GOOS=wasip1 GOARCH=wasm $(GO) build -buildmode=c-shared -trimpath -ldflags='-s -w' -o $(OUT)/zerohop.wasm ./filter/module

test: ## run all tests but those on a real vLLM
	$(GO) test ./...

fuzz: ## run every fuzz target for FUZZTIME each
	@grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' $(SOURCES) | sort | while IFS=: read -r file func; do \
		echo "$${func#func } in $${file%/*}"; \
		$(GO) test -run '^$$' -fuzz "^$${func#func }\$$" -fuzztime $(FUZZTIME) "./$${file%/*}" || exit 1; \
	done

lint: $(LINT) ## run the linters, on the code of the Wasm module too
	@failed=; \
	$(LINT) run ./... || failed=1; \
	GOOS=wasip1 GOARCH=wasm $(LINT) run ./shared/... ./scorers/... ./filter/... || failed=1; \
	test -z "$$failed"

fmt: $(LINT) ## format all Go files as the linters want them
	$(LINT) fmt

$(LINT):
	cd build/lint && $(GO) build -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
