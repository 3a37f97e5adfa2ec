package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/controlplane"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/status"
	"github.com/zerohop/zerohop/xds/telemetry"
)

// director keeps the configuration in force: it reads what changes and tells the other parts. A document that is wrong
// anywhere changes nothing.
type director struct {
	load    func(document []byte) (*config.Config, error)
	scraper func(config.Scrape, *config.Metrics) (scraper, error)
	asker   func(config.Scrape, config.Models) (scraper, error) // nil without error if nobody reads models
	fleet   *fleet
	control *controlplane.Server
	flags   []discovery.Source // beside those that the configuration names
	log     *slog.Logger
	renew   chan struct{} // the sources of endpoints are others; has room for one

	// Of the goroutine that follows the configuration file.
	document []byte  // the newest content that was looked at
	scraping scraper // of config
	asking   scraper // of config; nil if nobody reads models

	mu       sync.Mutex
	config   *config.Config       // written by the goroutine that follows the file only, and so is state
	list     []discovery.Endpoint // newest; nil if none is known
	revision string               // of the newest plan; empty if there is none
	state    status.Config
	source   status.Source
	counts   telemetry.Config
}

// changed handles new content of the configuration file, or the reason why there is none.
func (d *director) changed(ctx context.Context, document []byte, err error) {
	var c *config.Config
	if err == nil {
		if bytes.Equal(document, d.document) && d.state.OK {
			return
		}
		d.document = document
		c, err = d.prepare(ctx, document)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.take(c)
	}
	d.note(err)
}

// prepare loads a document and has the fleet do what its plan will need: a filter that selects by labels or models would refuse
// everything while it knows none.
func (d *director) prepare(ctx context.Context, document []byte) (*config.Config, error) {
	if blank(document) {
		return nil, ErrEmpty
	}
	c, err := d.load(document)
	if err != nil {
		return nil, err
	}
	if c.Zerohop.Agent.Disabled {
		return nil, ErrDisabled
	}
	if len(d.flags) == 0 && !HasSource(c) {
		return nil, ErrNoSource
	}
	before, now := &d.config.Zerohop, &c.Zerohop
	set := settings{drain: now.DrainTimeout, scraper: d.scraping, models: d.asking, wants: wantsOf(c), engineLabel: c.Metrics.EngineLabel}
	if now.Scrape != before.Scrape || !reflect.DeepEqual(c.Metrics, d.config.Metrics) {
		if set.scraper, err = d.scraper(now.Scrape, &c.Metrics); err != nil {
			return nil, err
		}
	}
	if now.Scrape != before.Scrape || c.Models != d.config.Models {
		if set.models, err = d.asker(now.Scrape, c.Models); err != nil {
			return nil, err
		}
	}
	d.scraping, d.asking = set.scraper, set.models
	d.warn(c)
	d.fleet.order(ctx, set)
	return c, nil
}

// take puts a configuration into force. The caller holds the lock.
func (d *director) take(c *config.Config) {
	sources := !sameSources(d.config, c)
	d.config = c
	d.plan()
	if sources {
		select {
		case d.renew <- struct{}{}:
		default: // it is due already
		}
	}
}

// plan sends the plan of the configuration in force to Envoy, once there is a list of endpoints: until then Envoy's own
// bootstrap knows better.
func (d *director) plan() {
	if d.list == nil {
		return
	}
	p := d.compile()
	if p.Revision == d.revision {
		return
	}
	d.revision = p.Revision
	d.control.SetPlan(p)
	d.log.Info("plan is ready", "revision", p.Revision, "destination_mode", p.Destination)
}

func (d *director) compile() *plan.Plan {
	return d.config.Plan(config.Settings{AgentCluster: d.config.Zerohop.Envoy.AgentCluster, Endpoints: d.list})
}

// endpoints handles an update of the merged sources. The plan is sent for the first list only: it serves until the first
// snapshot, which every later list is part of. An Envoy that connects later begins with the list of then.
func (d *director) endpoints(ctx context.Context, u discovery.Update) {
	d.mu.Lock()
	if d.noteSource(u); u.Err != nil {
		d.mu.Unlock()
		return
	}
	first := d.list == nil
	d.list = u.Endpoints
	if d.list == nil {
		d.list = []discovery.Endpoint{}
	}
	if limit := d.config.Zerohop.Bounds.Endpoints; len(d.list) > limit {
		d.log.Warn("the filter considers fewer endpoints than there are; raise bounds.endpoints", "endpoints", len(d.list), "bound", limit)
	}
	if len(d.list) == 0 {
		d.log.Warn("there is no endpoint")
	}
	if first {
		d.plan()
	} else {
		p := d.compile()
		p.Revision = d.revision
		d.control.RefreshPlan(p)
	}
	d.mu.Unlock()
	send(ctx, d.fleet.lists, u.Endpoints)
}

// noteSource remembers how discovery fares. It has logged that itself.
func (d *director) noteSource(u discovery.Update) {
	text := ""
	if u.Err != nil {
		text = u.Err.Error()
	}
	if ok := u.Err == nil; ok != d.source.OK || text != d.source.Error {
		d.source.OK, d.source.Error, d.source.Since = ok, text, time.Now()
	}
	if u.Err == nil {
		d.source.Warnings = u.Warnings
	}
}

// note remembers and logs how the newest document fared.
func (d *director) note(err error) {
	text := ""
	if err == nil {
		d.counts.Loaded++
		d.counts.LastSuccess = time.Now()
	} else {
		d.counts.Failed++
		text = err.Error()
	}
	if d.state.OK != (err == nil) || d.state.Error != text || err == nil {
		d.state.Since = time.Now()
	}
	d.state.OK, d.state.Error = err == nil, text
	if err == nil {
		d.log.Info("configuration in force", "file", d.state.File, "revision", d.revision)
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		d.log.Error("configuration is not accepted; the one before stays in force", "file", d.state.File, "problem", line)
	}
}

// status fills in what the director knows.
func (d *director) status(s *status.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Revision, s.Config, s.Discovery = d.revision, d.state, d.source
}

// loads returns how the documents fared so far.
func (d *director) loads() telemetry.Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.counts
	c.SourcesOK = d.source.OK
	return c
}

// warn logs the warnings of c, and what of it takes effect only when the agent starts.
func (d *director) warn(c *config.Config) {
	for _, w := range c.Warnings {
		d.log.Warn("configuration has something that will surprise", "file", d.state.File, "warning", w.String())
	}
	for i := range c.Inactive {
		d.log.Warn("configuration has something that is not active", "file", d.state.File, "inactive", c.Inactive[i].String())
	}
	was, is := d.config.Zerohop.Agent, c.Zerohop.Agent
	is.MaxSnapshotAge = was.MaxSnapshotAge // the plan has it
	if is != was {
		d.log.Warn("changes of agent take effect when the agent starts again", "file", d.state.File)
	}
}

// discover follows the sources of endpoints until ctx ends.
func (d *director) discover(ctx context.Context) {
	known := make(memories)
	for ctx.Err() == nil {
		sources := make([]source, 0, len(d.flags))
		for i, s := range d.flags {
			sources = append(sources, source{s, fmt.Sprintf("flag %d", i)})
		}
		d.mu.Lock()
		sources = append(sources, sourcesOf(d.config, d.log)...)
		d.mu.Unlock()
		d.follow(ctx, discovery.Merge(d.log, known.of(sources)...))
	}
}

// follow follows one source until ctx ends or the sources are others.
func (d *director) follow(ctx context.Context, s discovery.Source) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx, func(u discovery.Update) { d.endpoints(ctx, u) }) })
	select {
	case <-ctx.Done():
	case <-d.renew:
	}
	cancel()
	running.Wait()
}

// ErrDisabled says that a configuration is for Envoys that have no agent.
var ErrDisabled = errors.New("agent.enabled is false: this configuration is for Envoys without agent")

// ErrNoSource says that nothing says where endpoints come from.
var ErrNoSource = errors.New("no endpoints: pass --endpoints FILE, or name a source in the configuration (discovery of ZerohopConfig, or dataLayer.discovery)")

// ErrEmpty refuses a file without content while another configuration is in force. At the start it means the default; later
// it is most often a file that is just being written.
var ErrEmpty = errors.New("there is nothing in the file; to have the default, write its kind")

// blank reports whether a document has nothing but blank lines, comments and separators.
func blank(document []byte) bool {
	for line := range bytes.Lines(document) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return false
		}
	}
	return true
}
