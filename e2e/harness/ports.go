package harness

import (
	"fmt"
	"net"
)

// FreePorts returns n different loopback addresses ("127.0.0.1:port") that nothing listens on. They are not reserved:
// a caller that finds one taken starts over with new ones.
func FreePorts(n int) ([]string, error) {
	addrs := make([]string, 0, n)
	for range n {
		// All stay open until the end, so that the kernel cannot hand out one of them twice.
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}
