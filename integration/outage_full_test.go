//go:build full

package integration

import (
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/tcpproxy"
	"github.com/chunkup/chunkup/multipart/wire"
)

// The network goes silent: connections stay, and nothing passes. Afterwards it
// goes on where it was.
func TestOutageFrozen(t *testing.T) {
	outage{
		size:   1 << 30,
		limits: wire.Limits{Stall: 3 * time.Second},
		begin: func(l *outageLab) {
			l.network.Blackhole(tcpproxy.Upstream)
			l.network.Blackhole(tcpproxy.Downstream)
		},
		end: func(l *outageLab) { l.network.Clear() },
	}.run(t)
}
