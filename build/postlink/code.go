package postlink

import (
	"errors"
	"fmt"
)

// Opcodes of the core specification, as far as this command has to know them.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opDrop         = 0x1a
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opLoad         = 0x28 // i32.load, the first of the loads and stores
	opI64Load      = 0x29
	opI32Store     = 0x36
	opStore        = 0x3e // the last of them
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opI32Eqz       = 0x45
	opI32LtU       = 0x49
	opI64Eqz       = 0x50
	opI32Add       = 0x6a
	opI32Mul       = 0x6c
	opI32ShrU      = 0x76
	opI64Add       = 0x7c
	opI32Wrap      = 0xa7
	opI64ExtendU   = 0xad
	opExtend       = 0xc4 // the last one without prefix
	opPrefix       = 0xfc

	prefixedConvert = 7 // the last of the saturating conversions
	prefixedCopy    = 10
	prefixedFill    = 11

	noType = 0x40 // of a block without results
)

// instr is an instruction of a function.
type instr struct {
	op   byte
	arg  uint32 // of a jump, call or constant, the number of a local variable or the type of a block
	from int    // where it begins in the body
	end  int
}

// decode returns the instructions of a function's body and where the first one begins.
func decode(body []byte, code []instr) ([]instr, error) {
	r := &reader{b: body}
	for n := r.count(); n > 0; n-- { // local variables
		r.skipInts(1)
		r.byte()
	}
	for r.more() {
		i := instr{from: r.at}
		i.op = r.byte()
		switch op := i.op; {
		case op == opBr, op == opBrIf, op == opCall, op == opLocalGet, op == opLocalSet:
			i.arg = uint32(r.uint())
		case op >= opBlock && op <= opIf:
			i.arg = uint32(r.byte()) // a type by its number would be the rest of a larger one, and nothing here is equal to it
			if i.arg >= 0x80 {
				r.skipInts(1)
			}
		case op == opI32Const:
			i.arg = r.constant()
		default:
			r.immediates(op)
		}
		i.end = r.at
		code = append(code, i)
	}
	if r.err == nil && (len(code) == 0 || code[len(code)-1].op != opEnd) {
		r.err = errors.New("no end")
	}
	return code, r.err
}

// constant reads a signed number and returns it if it is small and not negative, or all ones.
func (r *reader) constant() uint32 {
	from := r.at
	r.skipInts(1)
	n := uint32(0)
	if r.at-from > 4 || r.at == from {
		return ^n
	}
	for i, b := range r.b[from:r.at] {
		n |= uint32(b&0x7f) << (7 * i)
	}
	if r.b[r.at-1]&0x40 != 0 {
		return ^uint32(0)
	}
	return n
}

// immediates passes over what follows an opcode.
func (r *reader) immediates(op byte) {
	switch {
	case op > opLocalSet && op <= opGlobalSet, op == opI64Const:
		r.skipInts(1)
	case op == opBrTable:
		r.skipInts(r.count() + 1)
	case op == opCallIndirect, op >= opLoad && op <= opStore:
		r.skipInts(2)
	case op == opMemorySize, op == opMemoryGrow:
		r.skip(1)
	case op == opF32Const:
		r.skip(4)
	case op == opF64Const:
		r.skip(8)
	case op == opPrefix:
		r.prefixed()
	case op <= 0x01, op == opReturn, op == opElse, op == opEnd, op == opDrop, op == 0x1b, op > opF64Const && op <= opExtend: // none
	default:
		r.fail(fmt.Errorf("opcode %#x, which Go's compiler is not known to write", op))
	}
}

func (r *reader) prefixed() {
	switch op := r.uint(); {
	case op <= prefixedConvert:
	case op == prefixedCopy:
		r.skip(2)
	case op == prefixedFill:
		r.skip(1)
	default:
		r.fail(fmt.Errorf("opcode 0xfc %d, which Go's compiler is not known to write", op))
	}
}
