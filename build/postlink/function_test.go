package postlink

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzRewrite makes sure that no body of a function is too strange.
func FuzzRewrite(f *testing.F) {
	for _, tt := range functions {
		f.Add(tt.before)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		fn := newFunction()
		out, err := fn.rewrite(body)
		if err != nil || out == nil {
			return
		}
		if _, err := decode(out, nil); err != nil {
			t.Errorf("%x became %x: %v", body, out, err)
		}
	})
}

// FuzzModule makes sure of the same for whole modules, and that the data are as before where the table is computed.
func FuzzModule(f *testing.F) {
	f.Add([]byte(magic))
	f.Add(append([]byte(magic), 0, 8, 4, 'n', 'a', 'm', 'e', 1, 1, 0))
	names := append(append([]byte{4}, "name"...), namesOfFunctions, byte(3+len(deferReturn)), 1, 0, byte(len(deferReturn)))
	names = append(names, deferReturn...)
	for _, data := range [][]segment{withoutZeros(smallImage()), pieces(smallImage(), 5000, 0)} {
		f.Add(join(append(smallModule(data).sections(), section{secCustom, names})))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, order := range [][]string{nil, {deferReturn}} {
			if after, stats, err := Rewrite(b, order); err == nil && stats.Table == nil {
				assertComputed(t, b, after)
			}
		}
	})
}

// newFunction returns a function that may call deferreturn as number 7, and as number 8 one that does not return.
func newFunction() function { return function{deferReturn: 7, noReturn: map[uint32]bool{8: true}} }

// Parts of the functions below.
const (
	get0, set0   = opLocalGet, opLocalSet
	noLocals     = 0
	eqz          = opI32Eqz
	blk, lp, end = opBlock, opLoop, opEnd
)

var functions = []struct {
	name          string
	before, after []byte // after is nil if the function stays as it is
}{
	{
		"jump ahead",
		[]byte{
			noLocals,
			lp, noType, blk, noType, blk, noType, blk, noType, get0, 0, opBrTable, 2, 0, 1, 2, end,
			opIf, noType, opI32Const, 2, set0, 0, opBr, 3, end, end, // to block 2
			opLocalGet, 1, opDrop, end,
			opI32Const, 0, opReturn,
			end, opUnreachable, end,
		},
		[]byte{
			noLocals,
			blk, noType, opBrIf, 0,
			opLocalGet, 1, opDrop, end,
			opI32Const, 0, opReturn,
			opUnreachable, end,
		},
	},
	{
		"loop with its condition behind",
		[]byte{
			noLocals,
			lp, noType, blk, noType, blk, noType, blk, noType, get0, 0, opBrTable, 2, 0, 1, 2, end,
			opI32Const, 2, set0, 0, opBr, 2, end, // to the condition
			opLocalGet, 1, opDrop, end, // body
			opLocalGet, 2, eqz, opIf, noType, opI32Const, 1, set0, 0, opBr, 1, end, // back to the body
			opI32Const, 0, opReturn,
			end, opUnreachable, end,
		},
		[]byte{
			noLocals,
			blk, noType, opBr, 0, end,
			lp, noType, blk, noType,
			opLocalGet, 2, eqz, opBrIf, 0, opI32Const, 0, opReturn, end,
			opLocalGet, 1, opDrop, opBr, 0, end,
			opUnreachable, end,
		},
	},
	{
		"call",
		[]byte{
			noLocals,
			blk, noType, blk, noType, blk, noType, blk, noType, get0, 0, opBrTable, 2, 0, 1, 2, end,
			opI32Const, 0, opCall, 9, opBrIf, 2, end, // the runtime may continue behind it
			opLocalGet, 1, opDrop, end,
			opI32Const, 0, opReturn, opUnreachable, end, opI32Const, 1, end,
		},
		[]byte{
			noLocals,
			blk, noType, blk, noType, blk, noType, blk, noType,
			get0, 0, eqz, opBrIf, 0, get0, 0, opBrTable, 2, 0, 1, 2, end,
			opI32Const, 0, opCall, 9, opBrIf, 2, end,
			opLocalGet, 1, opDrop,
			opI32Const, 0, opReturn, opUnreachable, end,
			opUnreachable, end, opI32Const, 1, end,
		},
	},
	{
		"call that does not return",
		[]byte{
			noLocals,
			blk, noType, blk, noType, blk, noType, blk, noType, blk, noType, get0, 0, opBrTable, 3, 0, 1, 2, 3, end,
			opLocalGet, 2, opIf, noType, opI32Const, 0, opCall, 8, opGlobalGet, 0, opLocalSet, 1, opBrIf, 4, end, // of a condition
			opI32Const, 0, opCall, 9, opGlobalGet, 0, opLocalSet, 1, opBrIf, 3, end,
			opI32Const, 0, opCall, 8, opGlobalGet, 0, opLocalSet, 1, opBrIf, 2, end,
			opLocalGet, 1, opDrop, end, // nothing leads here
			opI32Const, 0, opReturn, opUnreachable, end, opI32Const, 1, end,
		},
		[]byte{
			noLocals,
			blk, noType, blk, noType, blk, noType, blk, noType,
			get0, 0, eqz, opBrIf, 0, get0, 0, opBrTable, 3, 0, 1, 2, 2, end,
			opLocalGet, 2, opIf, noType, opI32Const, 0, opCall, 8, opReturn, end,
			opI32Const, 0, opCall, 9, opGlobalGet, 0, opLocalSet, 1, opBrIf, 2, end,
			opI32Const, 0, opCall, 8, opReturn,
			opLocalGet, 1, opDrop,
			opI32Const, 0, opReturn, opUnreachable, end,
			opUnreachable, end, opI32Const, 1, end,
		},
	},
	{
		"shorter forms",
		[]byte{
			noLocals,
			lp, noType, blk, noType, blk, noType, get0, 0, opBrTable, 1, 0, 1, end,
			opLocalGet, 1, opI64ExtendU, opI64Const, 24, opI64Add, opI32Wrap, opI64Load, 3, 8, opI32Wrap, opI64Load, 3, 0, opLocalSet, 2,
			opLocalGet, 2, opI64ExtendU, opI64Const, 0x78, opI64Add, opI32Wrap, opLocalSet, 3, opLocalGet, 2, // -8 stays
			opI64ExtendU, opI64Eqz, opI64ExtendU, opI32Wrap,
			opIf, noType, opI32Const, 1, set0, 0, opBr, 2, end, opDrop, end,
			opI32Const, 0, opReturn, end, opUnreachable, end,
		},
		[]byte{
			noLocals,
			blk, noType,
			opLocalGet, 1, opI32Const, 24, opI32Add, opLoad, 2, 8, opI64Load, 3, 0, opLocalTee, 2,
			opI64ExtendU, opI64Const, 0x78, opI64Add, opI32Wrap, opLocalSet, 3, opLocalGet, 2,
			opI32Eqz,
			opBrIf, 0, opDrop, end,
			opI32Const, 0, opReturn, opUnreachable, end,
		},
	},
	{"other form", []byte{noLocals, opLocalGet, 0, end}, nil},
	{"jump out of place", []byte{
		noLocals,
		lp, noType, blk, noType, get0, 0, opBrTable, 0, 0, end, opBr, 0, end, opUnreachable, end,
	}, nil},
	{"begin at another place", []byte{
		noLocals,
		blk, noType, blk, noType, blk, noType, get0, 0, opBrTable, 2, 1, 0, 1, end,
		opI32Const, 0, opCall, 9, opBrIf, 1, end,
		opI32Const, 0, opReturn, opUnreachable, end, opI32Const, 1, end,
	}, nil},
}

func TestFunctions(t *testing.T) {
	for _, tt := range functions {
		t.Run(tt.name, func(t *testing.T) {
			f := newFunction()
			got, err := f.rewrite(tt.before)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.after, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
