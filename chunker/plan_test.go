package chunker_test

import (
	"errors"
	"math"
	"testing"

	"github.com/chunkup/chunkup/chunker"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
	tib = int64(1) << 40
)

// What the documents of other stores say.
var (
	s3     = chunker.Limits{}
	r2     = chunker.Limits{MaxPart: 5*gib - 5*mib, MaxObject: 5*tib - 5*gib}
	gcs    = chunker.Limits{MaxObject: 5 * tib}
	few    = chunker.Limits{MaxParts: 1000}
	storj  = chunker.Limits{MinPart: 64 * mib}
	metric = chunker.Limits{MaxPart: 5_000_000_000}
)

// R61 (https://github.com/awslabs/mountpoint-s3/pull/1729): 5 TiB hard-coded
// refuses legal objects, 5 MiB times 10,000 refuses more than 48.8 GiB.
func TestNewPlan(t *testing.T) {
	for name, c := range map[string]struct {
		size, want int64
		limits     chunker.Limits
		part       int64
		count      int
	}{
		"empty":                       {0, 0, s3, 8 * mib, 1},
		"one byte":                    {1, 0, s3, 8 * mib, 1},
		"below the least part":        {5*mib - 1, 0, s3, 8 * mib, 1},
		"the least part":              {5 * mib, 0, s3, 8 * mib, 1},
		"above the least part":        {5*mib + 1, 0, s3, 8 * mib, 1},
		"the least default":           {8 * mib, 0, s3, 8 * mib, 1},
		"above the least default":     {8*mib + 1, 0, s3, 8 * mib, 2},
		"last of the small":           {512*mib - 1, 0, s3, 8 * mib, 64},
		"first of middle size":        {512 * mib, 0, s3, 16 * mib, 32},
		"5 GiB":                       {5 * gib, 0, s3, 16 * mib, 320},
		"5 GiB and a byte":            {5*gib + 1, 0, s3, 16 * mib, 321},
		"last of middle size":         {32*gib + 2047, 0, s3, 16 * mib, 2049},
		"first of the large":          {32*gib + 2048, 0, s3, 17 * mib, 1928},
		"48.8 GiB and a byte":         {5*mib*10_000 + 1, 0, s3, 25 * mib, 2001},
		"100 GiB":                     {100 * gib, 0, s3, 50 * mib, 2048},
		"largest default":             {128 * gib, 0, s3, 64 * mib, 2048},
		"last without growth":         {9500 * 64 * mib, 0, s3, 64 * mib, 9500},
		"first with growth":           {9500*64*mib + 1, 0, s3, 65 * mib, 9354},
		"all numbers less a byte":     {10_000*64*mib - 1, 0, s3, 68 * mib, 9412},
		"all numbers":                 {10_000 * 64 * mib, 0, s3, 68 * mib, 9412},
		"all numbers and a byte":      {10_000*64*mib + 1, 0, s3, 68 * mib, 9412},
		"5 TiB":                       {5 * tib, 0, s3, 552 * mib, 9498},
		"5 TiB and a byte":            {5*tib + 1, 0, s3, 552 * mib, 9498},
		"the largest less a byte":     {chunker.MaxObject - 1, 0, s3, 5 * gib, 10_000},
		"the largest":                 {chunker.MaxObject, 0, s3, 5 * gib, 10_000},
		"empty, wanted":               {0, 5 * mib, s3, 5 * mib, 1},
		"wanted, one part":            {5 * mib, 5 * mib, s3, 5 * mib, 1},
		"wanted, two parts":           {5*mib + 1, 5 * mib, s3, 5 * mib, 2},
		"wanted, odd":                 {10 * mib, 5*mib + 1, s3, 5*mib + 1, 2},
		"wanted, all numbers":         {10_000 * 5 * mib, 5 * mib, s3, 5 * mib, 10_000},
		"wanted, grown":               {10_000*5*mib + 1, 5 * mib, s3, 6 * mib, 8334},
		"wanted, grown far":           {chunker.MaxObject, 5 * mib, s3, 5 * gib, 10_000},
		"wanted, the largest":         {100 * gib, 5 * gib, s3, 5 * gib, 20},
		"R2, the largest":             {5*tib - 5*gib, 0, r2, 552 * mib, 9489},
		"GCS, the largest":            {5 * tib, 0, gcs, 552 * mib, 9498},
		"1,000 parts":                 {1000 * 16 * mib, 0, few, 17 * mib, 942},
		"1,000 parts, the largest":    {1000 * 5 * gib, 0, few, 5 * gib, 1000},
		"64 MiB at least":             {100 * mib, 0, storj, 64 * mib, 2},
		"a maximum not in MiB":        {10_000 * 5_000_000_000, 0, metric, 5_000_000_000, 10_000},
		"a maximum below the default": {30, 0, chunker.Limits{MinPart: 1, MaxPart: 10, MaxParts: 3}, 10, 3},
		"one part only":               {30, 0, chunker.Limits{MinPart: 1, MaxPart: 40, MaxParts: 1}, 40, 1},
		"no bounds at all":            {math.MaxInt64, 0, chunker.Limits{MaxPart: math.MaxInt64, MaxParts: 1}, math.MaxInt64, 1},
		"two halves of everything":    {math.MaxInt64, 1, chunker.Limits{MinPart: 1, MaxPart: math.MaxInt64, MaxParts: 2}, 1 << 62, 2},
		"MaxObject beyond reach":      {20, 0, chunker.Limits{MinPart: 1, MaxPart: 10, MaxParts: 2, MaxObject: math.MaxInt64}, 10, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := chunker.NewPlan(c.size, c.want, c.limits)
			if err != nil {
				t.Fatal(err)
			}
			if p != (chunker.Plan{Size: c.size, PartSize: c.part}) || p.Len() != c.count {
				t.Errorf("got %+v with %d parts, want part size %d and %d parts", p, p.Len(), c.part, c.count)
			}
		})
	}
}

// R18 (https://github.com/owncloud/ocis/issues/10775): 480,836,121,225 bytes
// were cut off at 10,000 parts of 25 MiB and reported as stored.
func TestNewPlanNeverTruncates(t *testing.T) {
	p, err := chunker.NewPlan(480_836_121_225, 25*mib, chunker.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for part := range p.Parts() {
		sum += part.Size
	}
	if sum != p.Size || p.PartSize != 46*mib {
		t.Errorf("%d bytes in parts of %d", sum, p.PartSize)
	}
}

func TestNewPlanRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		size, want int64
		limits     chunker.Limits
		err        string
	}{
		"negative size":     {-1, 0, s3, "object size of -1 bytes is below the minimum of 0 bytes"},
		"least size":        {math.MinInt64, 0, s3, "object size of -9223372036854775808 bytes is below the minimum of 0 bytes"},
		"above the largest": {chunker.MaxObject + 1, 0, s3, "object size of 53687091200001 bytes (48.83 TiB) is above the maximum of 53687091200000 bytes (48.83 TiB)"},
		"MaxInt64":          {math.MaxInt64, 0, s3, "object size of 9223372036854775807 bytes (8 EiB) is above the maximum of 53687091200000 bytes (48.83 TiB)"},
		"MaxObject":         {5*tib + 1, 0, gcs, "object size of 5497558138881 bytes (5 TiB) is above the maximum of 5497558138880 bytes (5 TiB)"},
		"1,000 parts":       {1000*5*gib + 1, 0, few, "object size of 5368709120001 bytes (4.883 TiB) is above the maximum of 5368709120000 bytes (4.883 TiB)"},
		"out of reach":      {21, 0, chunker.Limits{MinPart: 1, MaxPart: 10, MaxParts: 2, MaxObject: 99}, "object size of 21 bytes is above the maximum of 20 bytes"},
		"negative want":     {1, -1, s3, "part size of -1 bytes is below the minimum of 5242880 bytes (5 MiB)"},
		"MB for MiB":        {1, 5_000_000, s3, "part size of 5000000 bytes (4.768 MiB) is below the minimum of 5242880 bytes (5 MiB)"},
		"want too small":    {1, 5*mib - 1, s3, "part size of 5242879 bytes (5 MiB) is below the minimum of 5242880 bytes (5 MiB)"},
		"want too large":    {1, 5*gib + 1, s3, "part size of 5368709121 bytes (5 GiB) is above the maximum of 5368709120 bytes (5 GiB)"},
		"want MaxInt64":     {1, math.MaxInt64, s3, "part size of 9223372036854775807 bytes (8 EiB) is above the maximum of 5368709120 bytes (5 GiB)"},
		"R2's part":         {1, 5 * gib, r2, "part size of 5368709120 bytes (5 GiB) is above the maximum of 5363466240 bytes (4.995 GiB)"},
		"limits: MinPart":   {1, 0, chunker.Limits{MinPart: -1}, "smallest part size of the store of -1 bytes is below the minimum of 1 bytes"},
		"limits: MaxPart":   {1, 0, chunker.Limits{MaxPart: 1023}, "largest part size of the store of 1023 bytes is below the minimum of 5242880 bytes (5 MiB)"},
		"limits: MaxParts":  {1, 0, chunker.Limits{MaxParts: -1}, "largest number of parts of the store of -1 is below the minimum of 1"},
		"limits: MaxObject": {1, 0, chunker.Limits{MaxObject: -1}, "largest object size of the store of -1 bytes is below the minimum of 0 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := chunker.NewPlan(c.size, c.want, c.limits)
			if _, ok := errors.AsType[*chunker.LimitError](err); !ok || p != (chunker.Plan{}) {
				t.Fatalf("got %+v, %v, want a *LimitError", p, err)
			}
			if err.Error() != c.err {
				t.Errorf("got  %s\nwant %s", err, c.err)
			}
		})
	}
}

func TestPlanByHand(t *testing.T) {
	for _, c := range []struct {
		plan  chunker.Plan
		count int
	}{
		{chunker.Plan{}, 1},
		{chunker.Plan{PartSize: 5}, 1},
		{chunker.Plan{Size: 1}, 0},
		{chunker.Plan{Size: -1, PartSize: 1}, 0},
		{chunker.Plan{Size: 1, PartSize: -1}, 0},
		{chunker.Plan{Size: 0, PartSize: -1}, 0},
		{chunker.Plan{Size: 7, PartSize: 3}, 3},
		{chunker.Plan{Size: math.MaxInt64, PartSize: math.MaxInt64}, 1},
		{chunker.Plan{Size: math.MaxInt64, PartSize: math.MaxInt64 - 1}, 2},
	} {
		if got := c.plan.Len(); got != c.count {
			t.Errorf("%+v has %d parts, want %d", c.plan, got, c.count)
		}
		seen := 0
		for part := range c.plan.Parts() {
			seen++
			if part != c.plan.Part(seen) {
				t.Errorf("%+v: Parts gave %+v as number %d", c.plan, part, seen)
			}
		}
		if seen != c.count {
			t.Errorf("%+v: Parts gave %d parts, want %d", c.plan, seen, c.count)
		}
		for _, n := range []int{-1, 0, c.count + 1} {
			mustPanic(t, func() { c.plan.Part(n) })
		}
	}
}

func TestPartsStops(t *testing.T) {
	for part := range (chunker.Plan{Size: 9, PartSize: 1}).Parts() {
		if part.Number == 3 {
			break
		}
		if part.Number > 3 {
			t.Fatal("went on after break")
		}
	}
}

func mustPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if text, _ := recover().(string); len(text) < 9 || text[:9] != "chunker: " {
			t.Errorf("panic %q, want one that begins with chunker:", text)
		}
	}()
	f()
}
