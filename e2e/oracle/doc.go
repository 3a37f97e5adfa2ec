// Package oracle is an independent, straightforward implementation of the EPP's scheduling (specification §2 to §4), made of maps
// and float64 and of nothing that the filter uses, and a comparison: the filter's picks of thousands of requests against frozen
// metrics are among the best that the oracle finds. There are only tests here.
package oracle
