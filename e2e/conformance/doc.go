// Package conformance holds the vectors of the EPP's specification as rows, one per id, each with what zerohop does about it:
// it passes, it deviates on purpose, it does not do it yet, or the vector does not apply. `make conformance` prints them. The
// rows are data where the vectors are; the parameters go the way that a configuration goes. There are only tests here.
package conformance
