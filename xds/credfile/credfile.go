// Package credfile reads credentials from files that change while the agent runs: certificates, authorities and tokens. A
// change takes effect when it can be read and parsed; until then, what was read before stays in force, and the log says so.
// It looks at files only when somebody asks for what stands in them, so that it has no goroutine, and never logs content.
package credfile

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// RereadEvery is the least time between two looks at a file.
	RereadEvery = time.Second
	// MaxBytes bounds the size of a file.
	MaxBytes = 1 << 20
)

// File is what stands in some files that belong together. A change counts when all of them parse together: a key that is
// written after its certificate is waited for. Several goroutines may use it.
type File[T any] struct {
	// Every is the least time between two looks. It is RereadEvery unless it is changed before the first use.
	Every time.Duration

	names []string
	parse func(files [][]byte) (T, error)
	log   *slog.Logger

	mu      sync.Mutex
	looked  time.Time
	content [][]byte // that the newest look found
	current T
	failed  bool // the newest content is not in force
	refused uint64
}

// Open reads the files for the first time.
func Open[T any](log *slog.Logger, parse func(files [][]byte) (T, error), names ...string) (*File[T], error) {
	f := &File[T]{Every: RereadEvery, names: names, parse: parse, log: log, looked: time.Now()}
	var err error
	if f.content, err = read(names); err != nil {
		return nil, err
	}
	if f.current, err = parse(f.content); err != nil {
		return nil, fmt.Errorf("%s: %w", names[0], err)
	}
	return f, nil
}

// Value returns what is in force, after a look at the files if one is due.
func (f *File[T]) Value() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.looked) >= f.Every {
		f.looked = now
		f.look()
	}
	return f.current
}

// Refused returns how many changes could not be taken over.
func (f *File[T]) Refused() uint64 {
	if f == nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}

func (f *File[T]) look() {
	content, err := read(f.names)
	if err == nil {
		if slices.EqualFunc(content, f.content, bytes.Equal) {
			f.failed = false
			return
		}
		var next T
		if next, err = f.parse(content); err == nil {
			f.current, f.content, f.failed = next, content, false
			f.log.Info("credentials are read again", "files", f.names)
			return
		}
	}
	if f.failed {
		return // it has been said
	}
	f.failed = true
	f.refused++
	f.log.Error("credentials cannot be read again; those before stay in force", "files", f.names, "error", err)
}

func read(names []string) ([][]byte, error) {
	out := make([][]byte, len(names))
	for i, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
		_ = f.Close()
		if err != nil {
			return nil, err
		}
		if len(b) > MaxBytes {
			return nil, fmt.Errorf("%s: more than %d bytes", name, MaxBytes)
		}
		out[i] = b
	}
	return out, nil
}

// ParseCertificate parses a certificate and its key, each a file in PEM form.
func ParseCertificate(files [][]byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(files[0], files[1])
	return &pair, err
}

// ParseCAs parses the certificates of authorities, a file in PEM form.
func ParseCAs(files [][]byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(files[0]) {
		return nil, errors.New("has no certificate in PEM form")
	}
	return pool, nil
}
