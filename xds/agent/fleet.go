package agent

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/publish"
	"github.com/zerohop/zerohop/xds/scrape"
)

const (
	// coalesce is the least time between two versions: the results of many endpoints go out together.
	coalesce = 10 * time.Millisecond
	// gather is how long the first result waits for others: endpoints are scraped in groups.
	gather = 3 * time.Millisecond
	// drainCheck is how often drained endpoints are looked for.
	drainCheck = 500 * time.Millisecond
	// drainLeast is how long an endpoint drains at least: until then not every worker need have heard of it.
	drainLeast = 2 * time.Second
	// firstPatience is how long the first version waits for the first try of every endpoint. One without numbers takes from
	// the filters what the agent before knew, such as block sizes, by which their indexes are laid out.
	firstPatience = 2 * time.Second
	// orderPatience is how long a plan waits for the endpoints' answers to what it asks that no plan before did, such as their
	// models. A filter that knows nothing yet refuses requests, or lets them go where they cannot be served.
	orderPatience = 700 * time.Millisecond
	// lastWants is how long snapshots carry what only the plan before reads. By then the filters have the new one.
	lastWants = 30 * time.Second
)

// scraper is what the fleet needs of package scrape.
type scraper interface {
	Run(ctx context.Context, e discovery.Endpoint, report func(scrape.Sample))
}

// key identifies an endpoint. The same name under another address is another endpoint.
type key struct {
	id      string
	address netip.AddrPort
}

func keyOf(e *discovery.Endpoint) key { return key{e.ID(), e.Address} }

// member is one endpoint that is known, or was until recently.
type member struct {
	endpoint discovery.Endpoint
	address  string // of endpoint, as text
	scraping inquiry
	asking   inquiry // for models
	tried    bool    // both had a result once: nobody waits for it
	sample   scrape.Sample
	before   scrape.Sample  // what was known when the present scraping began
	drains   time.Time      // when discovery dropped it; zero while it is listed
	facts    *publish.Facts // of endpoint and models
	models   *scrape.Models // nil if they are not known
}

// inquiry is the repeated asking of one endpoint by a scraper.
type inquiry struct {
	run   uint64             // its number
	stop  context.CancelFunc // ends it; nil while it does not run
	heard bool               // the present scraper has had a result
}

// end ends the inquiry if it runs.
func (q *inquiry) end() {
	if q.stop != nil {
		q.stop()
		q.stop = nil
	}
}

// takes reports whether r is a result of the inquiry that runs, and notes that there is one.
func (q *inquiry) takes(r result) bool {
	if q.stop == nil || r.run != q.run {
		return false
	}
	q.heard = true
	return true
}

// result is one try of one endpoint.
type result struct {
	key    key
	run    uint64 // of the inquiry that it came from
	sample scrape.Sample
}

// settings are what can change while the fleet runs.
type settings struct {
	scraper     scraper
	models      scraper        // asks for the served models; nil if nobody reads them
	wants       *publish.Wants // what plugins read
	drain       time.Duration  // how long a dropped endpoint stays at most
	engineLabel string         // Options.EngineLabel of scraper
}

// order puts settings into force. done is closed when a version for them is published.
type order struct {
	settings
	done chan struct{}
}

// fleet owns what is known of all endpoints: it starts and stops their scraping, and publishes. What other goroutines may use
// are ready, count and the channels; the rest belongs to the goroutine of run.
//
// An endpoint that discovery drops is published as draining, so that workers give it no request while its open streams go
// on, and is forgotten when the filters report none in flight any more, at the latest after settings.drain. One that is
// listed again in the meantime goes on as before.
type fleet struct {
	lists   chan []discovery.Endpoint
	results chan result
	told    chan result // of models
	changes chan order
	ready   atomic.Bool  // a list is known, and every endpoint of it has been tried
	count   atomic.Int64 // endpoints that are known

	store     *publish.Store
	reports   *publish.Fleet
	published func() // called after each version
	log       *slog.Logger

	set     settings
	narrow  time.Time // when snapshots stop to carry what only the plan before reads; zero if they carry nothing of the kind
	runs    uint64    // counts inquiries, so that late results of an earlier one can be told
	members map[key]*member
	listed  time.Time // when the first list came
	untried int
	ordered chan struct{}  // closed when what the newest settings ask of endpoints is published; nil if it is
	running sync.WaitGroup // inquiries
}

func newFleet(set settings, store *publish.Store, reports *publish.Fleet, published func(), log *slog.Logger) *fleet {
	if set.wants == nil {
		set.wants = &publish.Wants{}
	}
	store.Want(set.wants)
	return &fleet{
		lists: make(chan []discovery.Endpoint), results: make(chan result), told: make(chan result), changes: make(chan order),
		store: store, reports: reports, published: published, log: log, set: set, members: make(map[key]*member),
	}
}

// send passes v to the goroutine of run, unless ctx ends before.
func send[T any](ctx context.Context, to chan<- T, v T) {
	select {
	case to <- v:
	case <-ctx.Done():
	}
}

// order has other settings put into force, and returns when a version for them is published, with what they ask of the
// endpoints that answer in time, or ctx ends.
func (f *fleet) order(ctx context.Context, s settings) {
	o := order{s, make(chan struct{})}
	select {
	case f.changes <- o:
	case <-ctx.Done():
		return
	}
	<-o.done
}

// complete reports whether every endpoint has answered what the newest settings ask.
func (f *fleet) complete() bool {
	for _, m := range f.members {
		if m.drains.IsZero() && !f.answered(m) {
			return false
		}
	}
	return true
}

// carryOut publishes what the newest settings asked for, and says so.
func (f *fleet) carryOut() {
	if f.ordered == nil {
		return
	}
	f.publish()
	close(f.ordered)
	f.ordered = nil
}

// run works until ctx ends, and returns when all scraping has ended.
func (f *fleet) run(ctx context.Context) {
	defer f.running.Wait()
	gap := time.NewTimer(0)
	defer gap.Stop()
	<-gap.C
	drains := time.NewTicker(drainCheck)
	defer drains.Stop()
	patience := time.NewTimer(0)
	defer patience.Stop()
	<-patience.C
	defer f.carryOut()
	due := false // a version is due when gap fires
	var last time.Time
	for {
		news := false
		select {
		case <-ctx.Done():
			return
		case list := <-f.lists:
			f.take(ctx, list)
			f.publish() // at once: workers must not choose what is gone
		case o := <-f.changes:
			f.carryOut()
			if !f.change(ctx, o.settings) {
				close(o.done)
				break
			}
			f.ordered = o.done
			patience.Reset(orderPatience)
		case <-patience.C:
			f.carryOut()
		case r := <-f.results:
			news = f.learn(r)
		case r := <-f.told:
			news = f.learnModels(r)
		case <-drains.C:
			news = f.dropDrained() || f.patienceEnds() || f.forgetWants()
		case <-gap.C:
			f.publish()
			last, due = time.Now(), false
		}
		if f.ordered != nil && f.complete() {
			f.carryOut()
		}
		if news && !due {
			gap.Reset(max(gather, max(coalesce, f.store.Pace())-time.Since(last)))
			due = true
		}
	}
}
