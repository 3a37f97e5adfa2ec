package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	xds "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/zerohop/zerohop/xds/discovery"
)

// usage is what a process may leak.
type usage struct {
	goroutines, conns, members int
	heap                       uint64
}

func (l *live) usage(open func() int) usage {
	synctest.Wait()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{goroutines: runtime.NumGoroutine(), conns: open(), members: len(l.published()), heap: m.HeapAlloc}
}

// TestADayOfChurn runs an agent for 24 hours of virtual time, or as many as the race detector leaves, in which endpoints come, go
// and change their addresses every ten seconds, the configuration changes every minute and is wrong every fifth time, filters
// report and restart, and Envoys connect and disconnect. Connections stand in for file descriptors: on the virtual network there
// are none.
func TestADayOfChurn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	startLive(t, func(l *live) {
		const slots = 12 // addresses that exist: 10.1.0.1 to 10.1.0.12
		l.documents <- []byte(header + "scrape: {interval: 10s}\ndrainTimeout: 20s\n")
		stopEndpoints := l.serve("10.1.0.%d:80", slots)
		defer stopEndpoints()
		rng := rand.New(rand.NewPCG(1, 2))
		var warm usage
		names := 0
		for second := 0; second < dayHours*3600; second += 10 {
			list := make([]discovery.Endpoint, 0, slots)
			for i := range slots {
				if rng.IntN(10) < 3 {
					continue
				}
				if rng.IntN(4) == 0 {
					names++ // a pod that never was before
				}
				list = append(list, discovery.Endpoint{
					Namespace: "n", Name: "pod-" + strconv.Itoa(names+i),
					Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, 0, byte(i + 1)}), 80),
				})
			}
			l.lists <- discovery.Update{Endpoints: list}
			if second%60 == 0 {
				l.documents <- []byte(edit(second / 60))
			}
			if second%600 == 0 {
				l.connect(fmt.Sprint("envoy-", second/600))
				l.restarts++
				l.report(uint64(second), map[string]uint32{"pod-1@10.1.0.1": 1})
			}
			time.Sleep(10 * time.Second)
			if second == 3600 {
				warm = l.settled(slots)
			}
		}
		end := l.settled(slots)
		t.Logf("after an hour %+v, at the end %+v; %d endpoints", warm, end, names)
		if end.goroutines > warm.goroutines || end.conns > warm.conns || end.members > warm.members {
			t.Errorf("after an hour %+v, at the end %+v", warm, end)
		}
		// 1 MiB more than after an hour is the slack of maps and buffers, not growth.
		if end.heap > warm.heap+1<<20 {
			t.Errorf("heap: %d bytes after an hour, %d at the end", warm.heap, end.heap)
		}
	})
}

// edit returns the configuration of a minute.
func edit(minute int) string {
	if minute%5 == 4 {
		return header + "destinationMode: nowhere\n"
	}
	modes := []string{"header", "filter_state", "list"}
	return header + fmt.Sprintf("scrape: {interval: %ds}\ndrainTimeout: 20s\ndestinationMode: %s\n", 10+minute%2, modes[minute%3])
}

// settled returns the usage when nothing but one fixed endpoint is left.
func (l *live) settled(slots int) usage {
	l.set("fixed@10.1.0.1")
	l.documents <- []byte(header + "scrape: {interval: 10s}\ndrainTimeout: 20s\n")
	time.Sleep(45 * time.Minute) // beyond what is kept of silent workers and Envoys that have gone
	l.client.CloseIdleConnections()
	return l.usage(func() int { return l.net.Open() })
}

// connect subscribes to the plan as an Envoy does, hangs up, and returns what came.
func (l *live) connect(node string) *xds.DiscoveryResponse {
	conn, err := grpc.NewClient("passthrough:///"+xdsAddress, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return l.net.DialContext(ctx, "tcp", addr) }))
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	stream, err := xds.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	metadata, err := structpb.NewStruct(map[string]any{"zerohop": map[string]any{"wasm": "/m.wasm"}})
	if err != nil {
		l.t.Fatal(err)
	}
	if err := stream.Send(&xds.DiscoveryRequest{
		Node: &core.Node{Id: node, Cluster: "day", Metadata: metadata}, TypeUrl: resource.ExtensionConfigType, ResourceNames: []string{"zerohop"},
	}); err != nil {
		l.t.Fatal(err)
	}
	r, err := stream.Recv()
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}
