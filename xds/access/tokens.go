package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
)

// tokens are hashes, so that tokens of every length compare in the same time. Each of them is valid: during a rotation both
// the old and the new one are, until every client has the new one.
type tokens [][sha256.Size]byte

// have reports whether token is one of them. The time that it takes does not tell which, nor how much of one is right.
func (t tokens) have(token string) bool {
	got, found := sha256.Sum256([]byte(token)), 0
	for i := range t {
		found |= subtle.ConstantTimeCompare(got[:], t[i][:])
	}
	return found == 1
}

// parseTokens reads a file with one token a line. Empty lines are skipped.
func parseTokens(files [][]byte) (tokens, error) {
	var out tokens
	number := 0
	for line := range strings.Lines(string(files[0])) {
		number++
		token := strings.TrimSpace(line)
		if token == "" {
			continue
		}
		if len(token) < minToken {
			return nil, fmt.Errorf("line %d has %d characters; a token needs at least %d, such as those of \"openssl rand -hex 32\"", number, len(token), minToken)
		}
		if strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
			return nil, fmt.Errorf("line %d has a character that cannot stand in a header; use letters and digits, one token a line", number)
		}
		out = append(out, sha256.Sum256([]byte(token)))
	}
	switch {
	case len(out) == 0:
		return nil, errors.New("has no token; write one a line, such as that of \"openssl rand -hex 32\"")
	case len(out) > maxTokens:
		return nil, fmt.Errorf("has %d tokens; at most %d are accepted, and a rotation needs two", len(out), maxTokens)
	}
	return out, nil
}
