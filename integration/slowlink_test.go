package integration

import (
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// A slow link must always finish. Eight lanes share a link that has a fifth of
// the rate which sizes their deadlines, so that all of them would miss them for
// ever: the train of TestSlowLinkTrain at ten times its speed, with parts of a
// sixteenth.
func TestSlowLink(t *testing.T) {
	slowLink{
		perSecond: 400_000, lanes: 8, parts: 8, partSize: 512 * kib,
		limits: wire.Limits{MinRate: 2_000_000, Overhead: time.Second},
		most:   40 * time.Second,
	}.run(t)
}
