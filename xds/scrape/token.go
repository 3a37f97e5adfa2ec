package scrape

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// fileCheck is how often files are looked at, at the most.
	fileCheck = time.Second
	maxToken  = 64 << 10
)

// tokenFile holds a bearer token, which is read again when its file changes. Any goroutine may use it.
type tokenFile struct {
	path string

	mu      sync.Mutex
	token   string
	checked time.Time
}

// newTokenFile reads the token.
func newTokenFile(path string) (*tokenFile, error) {
	t := &tokenFile{path: path}
	_, err := t.get(time.Now())
	return t, err
}

// get returns the token. While the file cannot be read, the old one counts: the server will say when it has expired.
func (t *tokenFile) get(now time.Time) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != "" && now.Sub(t.checked) < fileCheck {
		return t.token, nil
	}
	t.checked = now
	token, err := readToken(t.path)
	if err == nil {
		t.token = token
	}
	if t.token != "" {
		return t.token, nil
	}
	return "", err
}

// readToken reads a token. It does not show it in an error.
func readToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("bearerTokenFile: %w", err)
	}
	if info.Size() > maxToken {
		return "", fmt.Errorf("bearerTokenFile: %s has more than %d bytes", path, maxToken)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("bearerTokenFile: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" || strings.ContainsFunc(token, notVisible) {
		return "", fmt.Errorf("bearerTokenFile: %s must hold one token and nothing else", path)
	}
	return token, nil
}
