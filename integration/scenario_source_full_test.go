//go:build full

package integration

import (
	"testing"

	"github.com/chunkup/chunkup/integration/check"
)

// https://github.com/Altinity/clickhouse-backup/issues/153, with all of its bytes.
func TestR15MemoryOfLongStream(t *testing.T) { largeParts(t, newFrugal(t), 2*gib) }

// What a stream takes does not grow with its length.
func TestPipeStaysSmallForGigabytes(t *testing.T) { pipeStaysSmall(t, newFrugal(t), 2*gib) }

// https://github.com/awslabs/mountpoint-s3/pull/1729: parts as large as a store
// takes them, of a file larger than most.
func TestR61PartsOfGigabytes(t *testing.T) {
	f := newFrugal(t)
	l := newLedger(t, check.Source{})
	f.copies(t, 200*mib, nil, l, "--part-size=2GiB", sparse(t, "file", 6*gib), "s3://bucket/key")
	l.holds(t, "/bucket/key", 6*gib)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tries) != 3 {
		t.Errorf("%d parts", len(l.tries))
	}
}
