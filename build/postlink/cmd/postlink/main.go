// Command postlink makes a Wasm module that Go's linker wrote smaller and faster; see package postlink.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags=-w -o zerohop.wasm ./filter/module
//	postlink zerohop.wasm
package main

import (
	"fmt"
	"os"

	"github.com/zerohop/zerohop/build/postlink"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: postlink MODULE.wasm")
		os.Exit(2)
	}
	if err := postlink.File(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "postlink:", err)
		os.Exit(1)
	}
}
