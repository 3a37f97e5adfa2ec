package strictyaml

import (
	"fmt"
	"strings"
)

// Nearest returns the word of known that word is most likely a misspelling of, or "" if it resembles none. Capitals, hyphens
// and underscores count for nothing.
func Nearest(word string, known []string) string {
	best, bestDistance := "", 0
	plain := fold(word)
	for _, k := range known {
		f := fold(k)
		most := max(1, min(len(plain), len(f))/3)
		if d := distance(plain, f); d <= most && (best == "" || d < bestDistance) {
			best, bestDistance = k, d
		}
	}
	return best
}

// Suggest returns what to write instead of word: the nearest of known, or all of them.
func Suggest(word string, known []string) string {
	if k := Nearest(word, known); k != "" {
		return fmt.Sprintf("did you mean %q?", k)
	}
	return "known here: " + strings.Join(known, ", ")
}

func fold(s string) []rune {
	s = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s))
	const most = 64 // more is no misspelling of anything
	r := []rune(s)
	return r[:min(len(r), most)]
}

// distance returns how many insertions, deletions, substitutions and swaps of neighbours lead from a to b.
func distance(a, b []rune) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range b {
			substitute := row[j]
			if a[i] != b[j] {
				substitute++
			}
			next[j+1] = min(substitute, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
