# Needs Go 1.26 or newer and Python 3.11 or newer; everything else is fetched into build/out, which git ignores.

.DEFAULT_GOAL := help
.PHONY: help run build order test test-vllm conformance replay bench bench-sharing bench-stream bench-agent bench-scorers sizing fuzz lint fmt clean

GO ?= go
OUT := build/out
SOURCES := shared scorers filter xds e2e build/postlink

# How long each fuzz target runs.
FUZZTIME ?= 10s

# The linters are one binary, pinned by build/lint/go.mod and built once per version of itself and of Go: about two minutes
# on two cores.
LINT := $(OUT)/tools/golangci-lint-$(shell awk '$$1 == "github.com/golangci/golangci-lint/v2" {print $$2}' build/lint/go.mod)-$(shell $(GO) env GOVERSION)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# BACKEND is sim (four simulated vLLM) or vllm (two real ones on the CPU). ONCE=1 ends by itself.
run: ## start endpoints, agent and Envoy, and route a few chats (ONCE=1, BACKEND=vllm)
	@$(GO) build -o $(OUT)/run ./e2e/run
	@ONCE=$(ONCE) BACKEND=$(BACKEND) exec $(OUT)/run

build: ## compile agent and filter into build/out
	CGO_ENABLED=0 $(GO) build -trimpath -o $(OUT)/zerohop ./xds/cmd/zerohop
	GOOS=wasip1 GOARCH=wasm $(GO) build -buildmode=c-shared -trimpath -ldflags=-w -o $(OUT)/zerohop.wasm ./filter/module
	$(GO) run ./build/postlink/cmd/postlink -order filter/module/order.txt $(OUT)/zerohop.wasm

order: ## find out which functions of the filter requests call, into filter/module/order.txt
	touch filter/module/order.txt
	ZEROHOP_WRITE_ORDER=1 $(GO) test -count 1 -run '^TestOrder$$' ./e2e/wasm

# The race detector needs a C compiler. A whole day of churn is for the plain test; the race detector sees some hours of it.
RACE := $(if $(shell command -v gcc),-race)

# The tests on Envoy and on the module build them in other processes, which the test cache does not see: no -count 1, no
# proof. They wait more than they work, so that three of them share two cores, and up to four tests of one that may.
# What must be in force within a second, and the replays of a trace, depend on the load of the machine: they come last, by themselves.
test: ## run all tests but those on a real vLLM
	$(GO) test $(RACE) ./xds/... ./e2e/vllmsim/... ./e2e/loadgen/...
	$(GO) test -run '^TestADayOfChurn$$' ./xds/agent
	$(GO) test ./shared/... ./scorers/... ./filter/...
	ZEROHOP_SOAK_REQUESTS=1000000 $(GO) test -count 1 -timeout 20m -p 3 -parallel 4 $$($(GO) list ./... | grep -vE '/(xds|shared|scorers|filter|e2e/vllmsim|e2e/loadgen|e2e/churn)(/|$$)')
	$(GO) test -count 1 -timeout 20m ./e2e/churn
	$(GO) test -count 1 -parallel 3 -tags e2e -run TestThresholds -v ./e2e/replay

test-vllm: ## run the tests on two real vLLM, which it installs (needs gcc and libnuma1)
	$(GO) test -tags vllm -count 1 -timeout 20m -v ./e2e/vllm/...

conformance: ## compare with the vectors of the EPP's specification, into build/out/conformance.txt
	@$(GO) test -count 1 -run '^Test(Conformance|IDs|Compat)' ./e2e/conformance; status=$$?; cat $(OUT)/conformance.txt; exit $$status

# docs/chaos.md says which faults there are, and what they may cost.
SEED ?= 1
MINUTES ?= 3

chaos: ## torture Envoy, agent and endpoints (SEED=n MINUTES=m), into build/out/chaos/report.html
	$(GO) run ./e2e/chaos -seed $(SEED) -minutes $(MINUTES)

# TRACE, REQUESTS and the like are flags of the command; see go run ./e2e/replay -help.
replay: ## replay a trace through Envoy, with zerohop and round robin, into build/out/replay.json
	$(GO) run ./e2e/replay -json $(OUT)/replay.json

bench: ## measure what the filter costs, into build/out/bench.json
	$(GO) run ./e2e/bench -json $(OUT)/bench.json -assert

bench-sharing: ## measure what it costs that workers share what they know, into build/out/bench_sharing.json
	$(GO) run ./e2e/bench -sharing -json $(OUT)/bench_sharing.json -assert

bench-stream: ## measure what a chunk of a streamed response costs, into build/out/bench_stream.json
	$(GO) run ./e2e/bench -stream -json $(OUT)/bench_stream.json -assert

bench-agent: ## measure what the agent costs with 100 and 1 000 endpoints, into build/out/bench_agent.json
	$(GO) run ./e2e/benchagent -json $(OUT)/bench_agent.json -assert

bench-scorers: ## measure what a scheduling decision costs, into build/out/bench_scorers.json
	$(GO) run ./e2e/benchscorers -json $(OUT)/bench_scorers.json -assert

sizing: ## measure the memory of a VM and of shared data, into build/out/sizing.json
	ZEROHOP_SIZING=$(CURDIR)/$(OUT)/sizing.json $(GO) test -count 1 -timeout 20m -run TestSizing -v ./e2e/wasm

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

clean: ## remove build/out, installed tools included
	rm -rf $(OUT)
