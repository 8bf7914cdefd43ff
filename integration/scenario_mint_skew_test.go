package integration

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// tooSkewed refuses what was signed more than 2 s before or after it arrived.
func tooSkewed(s signed) *s3Error {
	if s.now.Sub(s.at).Abs() > 2*time.Second {
		return &s3Error{http.StatusForbidden, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large."}
	}
	return nil
}

// R30, https://github.com/aws/aws-sdk-java-v2/issues/4122: parts were signed when they
// were queued, and refused for their age when they were sent. And of clocks that are
// really wrong.
func TestR30(t *testing.T) {
	keys := credentials.NewStaticCredentialsProvider("key", "secret", "")

	// Eight parts one after the other on a link that takes 4 s for them (5 s in the
	// scenario): the last waits longer than the store allows for.
	t.Run("the queue is long", func(t *testing.T) {
		check.Leaks(t)
		src := check.Pattern(8 * mib)
		g := newGate(t, newLedger(t, src), tooSkewed)
		d := g.desk(t, keys)
		d.endpoint.Lanes, d.endpoint.Bandwidth = 1, 8*mib/4
		begin := time.Now()
		if _, err := d.file(t, src); err != nil {
			t.Fatal(err)
		}
		g.ledger.holds(t, "/bucket/key", src.Size())
		refused, _ := g.refusals()
		if took := time.Since(begin); refused > 0 || took < 3*time.Second {
			t.Errorf("%d refused in %v", refused, took)
		}
	})

	t.Run("the store's clock is 20 minutes ahead", func(t *testing.T) { skewed(t, 20*time.Minute) })
	t.Run("the store's clock is 20 minutes behind", func(t *testing.T) { skewed(t, -20*time.Minute) })

	t.Run("this machine's clock jumps", func(t *testing.T) {
		jumps(t, keys, time.Hour, 16*mib) // so slow that the clock is looked at meanwhile
		jumps(t, keys, -time.Hour, 0)
	})
}

// skewed uploads to a store whose clock is another: one refusal is enough to know,
// and what is signed by this machine is used no more.
func skewed(t *testing.T, ahead time.Duration) {
	check.Leaks(t)
	src := check.Pattern(12 * mib)
	g := newGate(t, newLedger(t, src), tooSkewed)
	g.ahead = ahead
	d := g.desk(t, credentials.NewStaticCredentialsProvider("key", "secret", ""))
	if _, err := d.file(t, src); err != nil {
		t.Fatal(err)
	}
	g.ledger.holds(t, "/bucket/key", src.Size())
	if refused, _ := g.refusals(); refused != 1 {
		t.Errorf("%d requests were refused", refused)
	}
	if d.warnings() != "" {
		t.Error(d.warnings())
	}
}

// jumps uploads while somebody sets the clock of this machine: what signs and what
// watches for a suspended machine read it, deadlines do not.
func jumps(t *testing.T, keys credentials.StaticCredentialsProvider, jump time.Duration, bandwidth int64) {
	check.Leaks(t)
	src := check.Pattern(24 * mib)
	var offset atomic.Int64
	arrived := 0
	g := newGate(t, newLedger(t, src), func(s signed) *s3Error {
		if s.op == rawstore.PutPart {
			if arrived++; arrived == 8 {
				offset.Store(int64(jump))
			}
		}
		return tooSkewed(s)
	})
	d := g.desk(t, keys)
	wall := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	d.provider.(*s3presign.Presigner).Clock().Wall = wall
	d.endpoint.Wall = wall
	d.endpoint.Bandwidth = bandwidth
	if _, err := d.file(t, src); err != nil {
		t.Fatal(err)
	}
	g.ledger.holds(t, "/bucket/key", src.Size())
	if refused, ofOne := g.refusals(); refused == 0 || refused > gateLanes || ofOne > 1 {
		t.Errorf("%v: %d requests were refused, %d of one part", jump, refused, ofOne)
	}
	for _, e := range d.events {
		if _, late := errors.AsType[*wire.DeadlineError](e.Err); late || e.Kind == multipart.Warned {
			t.Errorf("%v: %v", jump, e.Err)
		}
	}
}
