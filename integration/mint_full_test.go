//go:build full

package integration

import (
	"testing"
	"time"
)

// 1 GiB in parts of 16 MiB over a link of 20 MB/s with 8 lanes: a part takes 6 s and a
// URL lives for 3.
func TestMintShortLivesFull(t *testing.T) {
	shortLives{size: 1 << 30, part: 16 * mib, rate: 20e6, ttl: 3 * time.Second}.run(t)
}
