//go:build full

package integration

import (
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// 64 MiB over 40 kB/s with all defaults, as on a train: eight parts of 8 MiB in
// eight lanes, each of which would need 28 minutes and is first given six. Run it
// with -timeout 90m.
func TestSlowLinkTrain(t *testing.T) {
	slowLink{
		perSecond: 40_000, lanes: 8, parts: 8, partSize: 8 * mib,
		limits: wire.Limits{},
		most:   75 * time.Minute,
	}.run(t)
}
