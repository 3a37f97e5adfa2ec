package controlplane

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/zerohop/zerohop/xds/bootstrap"
)

const (
	maxText    = 256 // bytes of a name that an Envoy chose
	maxReason  = 2048
	maxPath    = 4096
	maxGone    = 256              // Envoys that are remembered after their connection ended
	rememberIt = 10 * time.Minute // how long they are
	maxGroups  = 64               // with a count of refusals of their own
	otherGroup = "other"
	warnEvery  = time.Minute // about one node
	maxSaid    = 1024        // warnings that are remembered
)

// nodes follows the streams. It implements sotw.Callbacks; streams call it in turn for their own events.
type nodes struct {
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	streams map[int64]*node
	gone    []NodeStatus      // ended connections, oldest first
	refused map[string]uint64 // by group
	said    map[string]time.Time
}

// node is one stream.
type node struct {
	NodeStatus
	known bool               // the first request has come
	sent  map[string][2]sent // by type URL: what was sent last, and before that, whose answer may come late
}

// sent is one response.
type sent struct{ nonce, version string }

func newNodes(log *slog.Logger, now func() time.Time) *nodes {
	return &nodes{log: log, now: now, streams: make(map[int64]*node), refused: make(map[string]uint64), said: make(map[string]time.Time)}
}

// OnStreamOpen implements sotw.Callbacks.
func (n *nodes) OnStreamOpen(ctx context.Context, id int64, _ string) error {
	s := &node{sent: make(map[string][2]sent)}
	s.Connected, s.Since = true, n.now()
	if p, ok := peer.FromContext(ctx); ok {
		s.Peer = p.Addr.String()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.streams[id] = s
	return nil
}

// OnStreamClosed implements sotw.Callbacks.
func (n *nodes) OnStreamClosed(id int64, _ *core.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.streams[id]
	delete(n.streams, id)
	if s == nil || !s.known {
		return
	}
	s.Connected, s.Since = false, n.now()
	n.gone = append(n.gone, s.NodeStatus)
	if len(n.gone) > maxGone {
		n.gone = slices.Delete(n.gone, 0, len(n.gone)-maxGone)
	}
	n.log.Info("Envoy disconnected", "node", s.ID, "group", s.Group, "peer", s.Peer)
}

// OnStreamRequest implements sotw.Callbacks: it learns who the node is, and what it accepted or refused.
func (n *nodes) OnStreamRequest(id int64, r *discovery.DiscoveryRequest) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.streams[id]
	if s == nil {
		return status.Error(codes.Internal, "unknown stream")
	}
	if !s.known {
		if err := n.introduce(s, r.GetNode()); err != nil {
			return err
		}
	}
	if t := r.GetTypeUrl(); (t == typePlan || t == typeClusters) && s.Module == "" {
		n.lack(s)
	}
	n.settle(s, r)
	return nil
}

// introduce takes over what a stream's first request says of its node.
func (n *nodes) introduce(s *node, from *core.Node) error {
	if from.GetId() == "" {
		return status.Error(codes.InvalidArgument, "node.id is missing in the bootstrap")
	}
	s.known = true
	s.ID, s.Group = printable(from.GetId(), maxText), printable(from.GetCluster(), maxText)
	s.Module = printable(modulePath(from), maxText)
	if v := from.GetUserAgentBuildVersion().GetVersion(); v != nil {
		s.Envoy = fmt.Sprintf("%d.%d.%d", v.GetMajorNumber(), v.GetMinorNumber(), v.GetPatch())
	}
	n.gone = slices.DeleteFunc(n.gone, func(g NodeStatus) bool { return g.ID == s.ID && g.Group == s.Group })
	n.log.Info("Envoy connected", "node", s.ID, "group", s.Group, "envoy", s.Envoy, "peer", s.Peer)
	n.compare(s)
	return nil
}

// compare warns of Envoys that cannot be told apart, once for each id.
func (n *nodes) compare(s *node) {
	for _, other := range n.streams {
		if other != s && other.known && other.ID == s.ID && n.due("id "+s.ID, 0) {
			n.log.Warn("two connected Envoys have one node id, so that their reports are mixed up; give each its own, by Envoy's flag --service-node",
				"node", s.ID, "peer", s.Peer, "other_peer", other.Peer)
		}
	}
}

// lack notes that a node cannot be sent the filter's configuration. The stream goes on: endpoints need no module, and an
// Envoy that is cut off would only come back.
func (n *nodes) lack(s *node) {
	if s.Lacks != "" {
		return
	}
	s.Lacks = fmt.Sprintf("node.metadata.%[1]s.%[2]s is missing in the bootstrap: the path of zerohop.wasm as this Envoy sees it, the same as vm_config.code.local.filename; "+
		"add \"metadata: {%[1]s: {%[2]s: PATH}}\" under node", bootstrap.MetadataKey, bootstrap.MetadataModule)
	if n.due("lacks "+s.Group+"/"+s.ID, warnEvery) {
		n.log.Warn("Envoy cannot be sent a plan and stays on that of its bootstrap", "node", s.ID, "group", s.Group, "peer", s.Peer, "reason", s.Lacks)
	}
}

// due reports whether something may be said: at most once in every, or once at all if that is 0.
func (n *nodes) due(what string, every time.Duration) bool {
	now := n.now()
	if last, said := n.said[what]; said && (every == 0 || now.Sub(last) < every) {
		return false
	}
	if len(n.said) >= maxSaid {
		clear(n.said)
	}
	n.said[what] = now
	return true
}

// settle books an acceptance or a refusal.
func (n *nodes) settle(s *node, r *discovery.DiscoveryRequest) {
	t := s.typeStatus(r.GetTypeUrl())
	if t == nil || r.GetResponseNonce() == "" {
		return
	}
	known := s.sent[r.GetTypeUrl()]
	at := slices.IndexFunc(known[:], func(k sent) bool { return k.nonce == r.GetResponseNonce() })
	if at < 0 {
		return
	}
	version, detail := known[at].version, r.GetErrorDetail()
	if detail == nil {
		t.Acked = version
		return
	}
	repeated := t.Nack != nil && t.Nack.Version == version
	t.Nack = &Nack{At: n.now(), Version: version, Reason: printable(detail.GetMessage(), maxReason)}
	n.count(s.Group)
	if !repeated {
		n.log.Error("Envoy refuses a configuration and keeps the one before", "node", s.ID, "group", s.Group,
			"type", typeName(r.GetTypeUrl()), "version", version, "reason", t.Nack.Reason,
			"hint", "Envoy's own log has the filter's reason")
	}
}

func (n *nodes) count(group string) {
	if _, ok := n.refused[group]; !ok && len(n.refused) >= maxGroups {
		group = otherGroup
	}
	n.refused[group]++
}

// OnStreamResponse implements sotw.Callbacks.
func (n *nodes) OnStreamResponse(_ context.Context, id int64, _ *discovery.DiscoveryRequest, r *discovery.DiscoveryResponse) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.streams[id]
	if s == nil {
		return
	}
	t := s.typeStatus(r.GetTypeUrl())
	if t == nil {
		return
	}
	t.Sent = r.GetVersionInfo()
	s.sent[r.GetTypeUrl()] = [2]sent{{r.GetNonce(), t.Sent}, s.sent[r.GetTypeUrl()][0]}
}

func (s *node) typeStatus(typeURL string) *TypeStatus {
	switch typeURL {
	case typePlan:
		return &s.Plan
	case typeEndpoints:
		return &s.Endpoints
	case typeClusters:
		return &s.Clusters
	}
	return nil
}

// list returns a copy of all nodes.
func (n *nodes) list() []NodeStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.now().Add(-rememberIt)
	n.gone = slices.DeleteFunc(n.gone, func(g NodeStatus) bool { return g.Since.Before(old) })
	all := slices.Clone(n.gone)
	for _, s := range n.streams {
		if s.known {
			all = append(all, s.NodeStatus)
		}
	}
	slices.SortFunc(all, func(a, b NodeStatus) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.ID, b.ID), a.Since.Compare(b.Since), cmp.Compare(a.Peer, b.Peer))
	})
	return all
}

func (n *nodes) refusals() map[string]uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.refused)
}

// modulePath returns where a node finds the module; empty if it does not say so.
func modulePath(from *core.Node) string {
	path := from.GetMetadata().GetFields()[bootstrap.MetadataKey].GetStructValue().GetFields()[bootstrap.MetadataModule].GetStringValue()
	if len(path) > maxPath {
		return ""
	}
	return path
}

// printable bounds what another program says, and keeps it from writing to a terminal or a log what it likes.
func printable(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return strings.TrimSpace(s)
}
