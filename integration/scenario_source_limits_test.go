package integration

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
)

// https://github.com/aws/aws-cli/issues/6120: a pipe of 90 GB failed after hours,
// because part 10,001 is illegal. A stream whose length nobody knows grows its
// parts; where the parts must be equal it takes what memory allows, or a hint, and
// what does not fit is said early.
func TestR11StreamsLongerThanSmallParts(t *testing.T) {
	check.Leaks(t)
	src := check.Pattern(400 * mib)
	few := func(t *testing.T) (*ledger, *desk) {
		l := newLedger(t, src)
		d := l.desk(t)
		d.profile.Traits.Limits = chunker.Limits{MinPart: 5 * mib, MaxParts: 20}
		d.options.Memory = 256 * mib
		return l, d
	}
	fits := func(t *testing.T, l *ledger, res multipart.Result, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		l.holds(t, "/bucket/key", src.Size())
		if res.Parts > 20 || res.Size != src.Size() {
			t.Errorf("result %+v", res)
		}
	}

	t.Run("parts may grow", func(t *testing.T) {
		l, d := few(t)
		res, err := d.stream(t, bytesOf(src), 0)
		fits(t, l, res, err)
		if res.PartSize >= src.Size()/20 {
			t.Errorf("the first part has %d bytes: nothing has grown", res.PartSize)
		}
	})
	t.Run("equal parts", func(t *testing.T) {
		l, d := few(t)
		d.profile.Traits.EqualParts, d.options.PartSize = true, 5*mib
		_, err := d.stream(t, bytesOf(src), 0)
		limit, ok := errors.AsType[*chunker.LimitError](err)
		if !ok || limit.Limit != 20 || !strings.Contains(err.Error(), "parts of at least") || !strings.Contains(err.Error(), "(6 MiB)") {
			t.Errorf("err = %v", err)
		}
		l.nothing(t)
		if n := l.count(rawstore.Abort); n < 1 {
			t.Errorf("%d aborts", n)
		}
		if w := d.warnings(); !strings.Contains(w, fmt.Sprint(100*mib, " bytes at most")) {
			t.Errorf("it warned of %q", w)
		}
		// That was said when an eighth of the bytes had been read.
		early := 0
		for _, e := range d.events {
			if e.Kind == multipart.Warned {
				break
			}
			if e.Kind == multipart.Attempted {
				early++
			}
		}
		if early > 4 {
			t.Errorf("%d requests before the warning", early)
		}
	})
	t.Run("equal parts, and a hint", func(t *testing.T) {
		l, d := few(t)
		d.profile.Traits.EqualParts, d.options.PartSize = true, 5*mib
		res, err := d.stream(t, bytesOf(src), src.Size())
		fits(t, l, res, err)
		l.mu.Lock()
		defer l.mu.Unlock()
		if res.PartSize != 20*mib {
			t.Errorf("parts of %d bytes", res.PartSize)
		}
	})
}

// https://github.com/owncloud/ocis/issues/10775: a file of 480 GB was stored as its
// first 262 GB, which are 10,000 parts, and reported fine.
func TestR18NeverFewerBytesThanThereAre(t *testing.T) {
	check.Leaks(t)
	src := check.Pattern(60 * mib)
	few := func(t *testing.T) (*ledger, *desk) {
		l := newLedger(t, src)
		d := l.desk(t)
		d.profile.Traits.Limits = chunker.Limits{MinPart: 5 * mib, MaxParts: 10}
		return l, d
	}
	t.Run("a file", func(t *testing.T) {
		l, d := few(t)
		d.options.PartSize = 5 * mib
		res, err := d.file(t, src)
		if err != nil || res.Parts > 10 {
			t.Errorf("%+v, %v", res, err)
		}
		l.holds(t, "/bucket/key", src.Size())
	})
	t.Run("a stream", func(t *testing.T) {
		l, d := few(t)
		res, err := d.stream(t, bytesOf(src), 0)
		if err != nil || res.Parts > 10 {
			t.Errorf("%+v, %v", res, err)
		}
		l.holds(t, "/bucket/key", src.Size())
	})
	t.Run("a stream in parts of a pinned size", func(t *testing.T) {
		l, d := few(t)
		d.options.PartSize = 5 * mib
		_, err := d.stream(t, bytesOf(src), 0)
		if _, ok := errors.AsType[*chunker.LimitError](err); !ok || !strings.Contains(err.Error(), "part limit") {
			t.Errorf("err = %v", err)
		}
		l.nothing(t)
		if n := l.count(rawstore.Abort); n < 1 {
			t.Errorf("%d aborts", n)
		}
	})
}

// https://github.com/awslabs/mountpoint-s3/pull/1729: clients with the limits of
// one store compiled in refuse legal objects, and send illegal ones.
func TestR61LimitsOfEveryStore(t *testing.T) {
	const tib = 1 << 40
	sizes := []int64{0, 1, 5*mib - 1, 5 * mib, 5*mib + 1, 5 * gib, 5*gib + 1, 10_000*5*mib + 1,
		5 * tib, 5*tib + 1, 10_000 * 5 * gib, 10_000*5*gib + 1}
	stores := map[string]chunker.Limits{"1000 parts": {MaxParts: 1000}}
	for _, name := range s3store.Names() {
		p, err := s3store.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		stores[name] = p.Traits.Limits
	}
	l := newLedger(t, check.Source{})
	for name, limits := range stores {
		d := l.desk(t)
		d.profile.Traits.Limits = limits
		for _, size := range sizes {
			most := mostBytes(limits)
			plan, err := chunker.NewPlan(size, 0, limits)
			if size <= most {
				if wrong := illegal(plan, size, limits); err != nil || wrong != "" {
					t.Errorf("%s, %d bytes: %v, %s", name, size, err, wrong)
				}
				continue
			}
			_, err = d.uploader(t).Upload(t.Context(), aimed, chunker.NewReaderAt(check.Source{}, size))
			if limit, ok := errors.AsType[*chunker.LimitError](err); !ok || limit.Value != size || limit.Limit != most {
				t.Errorf("%s, %d bytes of %d at most: %v", name, size, most, err)
			}
		}
	}
	if n := l.total(); n > 0 {
		t.Errorf("%d requests for what no store takes", n)
	}
	// The figures of the report.
	for name, most := range map[string]int64{"aws": 10_000 * 5 * gib, "gcs": 5 * tib, "r2": 5*tib - 5*gib, "1000 parts": 1000 * 5 * gib} {
		if got := mostBytes(stores[name]); got != most {
			t.Errorf("%s takes %d bytes, want %d", name, got, most)
		}
	}
}

// mostBytes is the largest object that the limits allow, S3's where they say
// nothing.
func mostBytes(l chunker.Limits) int64 {
	l = allLimits(l)
	most := l.MaxPart * int64(l.MaxParts)
	if l.MaxObject > 0 {
		return min(most, l.MaxObject)
	}
	return most
}

func allLimits(l chunker.Limits) chunker.Limits {
	if l.MinPart == 0 {
		l.MinPart = 5 * mib
	}
	if l.MaxPart == 0 {
		l.MaxPart = 5 * gib
	}
	if l.MaxParts == 0 {
		l.MaxParts = 10_000
	}
	return l
}

// illegal says what a store would not take about a plan.
func illegal(p chunker.Plan, size int64, l chunker.Limits) string {
	l = allLimits(l)
	var sum int64
	n := 0
	for part := range p.Parts() {
		if n++; part.Number != n || part.Offset != sum {
			return fmt.Sprintf("part %d is %+v", n, part)
		}
		if last := n == p.Len(); part.Size > l.MaxPart || !last && part.Size < l.MinPart || last && part.Size < 1 && size > 0 {
			return fmt.Sprintf("part %d of %d has %d bytes", n, p.Len(), part.Size)
		}
		sum += part.Size
	}
	if n > l.MaxParts || sum != size {
		return fmt.Sprintf("%d parts with %d bytes", n, sum)
	}
	return ""
}

// A store that nobody knows takes fewer parts than S3: asking it twice would not
// help, and larger parts would.
func TestR61UnknownStoreWithFewerParts(t *testing.T) {
	check.Leaks(t)
	src := check.Pattern(1010 * kib)
	l := newLedger(t, src)
	l.refuse = func(_ rawstore.Op, part int) error {
		if part > 1000 {
			return &s3Error{http.StatusBadRequest, "InvalidArgument", "Part number must be an integer between 1 and 1000, inclusive"}
		}
		return nil
	}
	d := l.desk(t)
	d.profile = generic(t)
	d.profile.Traits.Algorithm = chunker.None // the ETags of a ledger are none that follow from the bytes
	d.endpoint.Lanes = 8
	d.options.PartSize, d.options.MaxAttempts = kib, 2
	_, err := d.file(t, src)
	e, ok := errors.AsType[*multipart.Error](err)
	if !ok || e.Part <= 1000 || e.Attempts != 1 {
		t.Fatalf("err = %v", err)
	}
	for _, want := range []string{"400 InvalidArgument", "between 1 and 1000", "larger part size"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	l.nothing(t)
	for part, n := range l.tries {
		if n != 1 {
			t.Errorf("part %d was sent %d times", part, n)
		}
	}
}
