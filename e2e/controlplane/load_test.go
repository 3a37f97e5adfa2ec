package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/traffic"
)

// load sends requests from several connections until it is ended.
type load struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	sent    int
	bad     []string
}

// startLoad sends chats to url from conns connections, one after the other each.
func startLoad(t *testing.T, url string, conns int) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel}
	for range conns {
		l.running.Go(func() { l.run(ctx, url) })
	}
	t.Cleanup(func() { l.end() })
	return l
}

func (l *load) run(ctx context.Context, url string) {
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr, Timeout: 20 * time.Second}
	for ctx.Err() == nil {
		what := ask(c, url)
		l.mu.Lock()
		l.sent++
		if what != nil {
			l.bad = append(l.bad, what.Error())
		}
		l.mu.Unlock()
		time.Sleep(2 * time.Millisecond) // the machine has other things to do
	}
}

const chat = `{"model":"sim-model","messages":[{"role":"user","content":"hello"}]}`

// ask sends one chat, and says what was wrong with the answer.
func ask(c *http.Client, url string) error {
	resp, err := c.Post(url+traffic.PathChat, "application/json", strings.NewReader(chat))
	if err != nil {
		return err
	}
	b, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %.200s", resp.StatusCode, b)
	}
	return nil
}

// more waits until n further requests were answered.
func (l *load) more(t *testing.T, n int) {
	t.Helper()
	goal := l.count() + n
	traffic.Until(t, "requests", func() error {
		if got := l.count(); got < goal {
			return fmt.Errorf("%d of %d", got, goal)
		}
		return nil
	})
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent
}

// end stops the load and returns what went wrong.
func (l *load) end() []string {
	l.cancel()
	l.running.Wait()
	return l.bad
}
