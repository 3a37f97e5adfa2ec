// Command postlink makes a Wasm module that Go's linker wrote smaller and faster; see package postlink.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags=-w -o zerohop.wasm ./filter/module
//	postlink -order filter/module/order.txt zerohop.wasm
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/zerohop/zerohop/build/postlink"
)

func main() {
	order := flag.String("order", "", "put the functions whose names are in `FILE` first")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: postlink [-order FILE] MODULE.wasm")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := postlink.File(flag.Arg(0), *order); err != nil {
		fmt.Fprintln(os.Stderr, "postlink:", err)
		os.Exit(1)
	}
}
