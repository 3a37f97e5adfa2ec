// Command program takes every kind of jump that Go has, and prints what came of it.
package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

func main() {
	for _, part := range []func(){loops, labels, switches, panics, goroutines, deep, collections, callers} {
		part()
	}
}

//go:noinline
func collatz(n int) (steps int) {
	for n != 1 {
		if n%2 == 0 {
			n /= 2
		} else {
			n = 3*n + 1
		}
		steps++
	}
	return steps
}

// fill has loops without a call, one in another, with a condition in the middle.
//
//go:noinline
func fill(grid [][]int, limit int) (sum int) {
	for y := range grid {
		x := 0
		for {
			if x == len(grid[y]) {
				break
			}
			v := x*y + limit
			for v > limit/2 {
				v -= 7
				if v%13 == 5 {
					v--
					continue
				}
				sum += v
			}
			grid[y][x] = v
			x++
		}
	}
	return sum
}

func loops() {
	sum := 0
	for i := 1; i < 2000; i++ {
		sum += collatz(i)
	}
	grid := make([][]int, 40)
	for i := range grid {
		grid[i] = make([]int, 30+i)
	}
	fmt.Println("loops", sum, fill(grid, 900), grid[7][3], grid[39][60])
}

//go:noinline
func search(rows [][]byte, want byte) (int, int) {
outer:
	for y, row := range rows {
		for x, c := range row {
			switch {
			case c == 0:
				continue outer
			case c == want:
				return y, x
			case c == 255:
				break outer
			}
		}
	}
	return -1, -1
}

//go:noinline
func irreducible(n int) (trace []int) {
	if n%2 == 0 {
		goto odd
	}
even:
	trace = append(trace, n)
	n -= 3
	if n < 0 {
		return trace
	}
odd:
	n--
	if n > 0 && n%3 != 0 {
		goto even
	}
	if n > 0 {
		goto odd
	}
	return append(trace, -n)
}

func labels() {
	rows := [][]byte{{1, 2, 0, 9}, {4, 5, 9}, {7, 255, 8}, {3}}
	for _, want := range []byte{9, 3, 2, 8} {
		y, x := search(rows, want)
		fmt.Println("labels", want, y, x)
	}
	fmt.Println("goto", irreducible(40), irreducible(41), irreducible(0))
}

//go:noinline
func name(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case int:
		switch v {
		case 0, 1, 2, 3, 5, 8, 13, 21:
			return "fibonacci"
		case 4, 9, 16, 25:
			return "square"
		}
		return "int"
	case string:
		switch v {
		case "a", "b", "long enough", "another one":
			return "known " + v
		}
		return "string"
	case error:
		return v.Error()
	}
	return "other"
}

func switches() {
	for _, v := range []any{nil, 13, 16, 17, "a", "another one", "zz", errors.New("e"), 1.5} {
		fmt.Println("switch", name(v))
	}
}

//go:noinline
func risky(i int, values []int) (result string, err error) {
	for k := range 3 {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("recovered %v in %d", r, k)
			}
			result += string(rune('a' + k))
		}()
	}
	if i == 4 {
		panic("four")
	}
	values[i] = 10 / (i - 1)
	var p *int
	if i == 5 {
		*p = 1
	}
	return fmt.Sprint(values[i]), nil
}

//go:noinline
func guarded(i int) (ok bool) {
	done := false
	defer func() {
		if !done && recover() != nil {
			ok = i%2 == 0
		}
	}()
	_, err := risky(i, make([]int, 4))
	if err != nil && i > 3 {
		panic(err)
	}
	done = true
	return true
}

func panics() {
	for i := range 7 {
		text, err := risky(i, make([]int, 6))
		fmt.Println("panic", i, text, err, guarded(i))
	}
}

func goroutines() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	numbers, total := make(chan int, 3), 0
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range numbers {
				mu.Lock()
				total += n
				mu.Unlock()
				runtime.Gosched()
			}
		}()
	}
	quit := make(chan bool)
	go func() {
		for i := range 500 {
			numbers <- i
		}
		close(numbers)
		wg.Wait()
		close(quit)
	}()
	ticks := 0
	for waiting := true; waiting; {
		select {
		case <-quit:
			waiting = false
		default:
			ticks++
			runtime.Gosched()
		}
	}
	fmt.Println("goroutines", total, ticks > 0)
}

// sum grows its stack again and again.
//
//go:noinline
func sum(depth int, pad [32]int) int {
	if depth == 0 {
		return pad[31]
	}
	pad[depth%32] += depth
	return sum(depth-1, pad) + pad[depth%32]
}

func deep() {
	done := make(chan int)
	go func() { done <- sum(20000, [32]int{}) }()
	fmt.Println("deep", <-done)
}

func collections() {
	m := map[string][]int{}
	var garbage [][]byte
	for i := range 20000 {
		k := strings.Repeat(string(rune('a'+i%26)), i%7)
		m[k] = append(m[k], i)
		garbage = append(garbage, make([]byte, i%512))
		if i%5000 == 0 {
			garbage = nil
			runtime.GC()
		}
	}
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	each := func(yield func(int, string) bool) {
		for i, k := range keys {
			if !yield(i, k) {
				return
			}
		}
	}
	for i, k := range each {
		if i > 9 {
			break
		}
		fmt.Println("map", k, len(m[k]), strings.Index(k, "aa"), strings.Compare(k, "cc"))
	}
	fmt.Println(len(keys), strings.ToUpper(keys[100]), len(garbage))
}

func callers() {
	func() {
		pc := make([]uintptr, 8)
		frames := runtime.CallersFrames(pc[:runtime.Callers(1, pc)])
		for {
			f, more := frames.Next()
			fmt.Println("caller", f.Function, f.Line)
			if !more {
				return
			}
		}
	}()
}
