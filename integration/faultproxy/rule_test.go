package faultproxy

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		method, url string
		want        target
	}{
		{"PUT", "/b/k?partNumber=7&uploadId=u%2B1&X-Amz-Signature=s", target{PutPart, "b", "k", 7, "u+1"}},
		{"PUT", "/b/dir/a+b%20c?x-id=PutObject", target{PutObject, "b", "dir/a+b c", 0, ""}},
		{"PUT", "/b/k?partNumber=7", target{PutObject, "b", "k", 7, ""}},
		{"PUT", "/b/k?tagging", target{Other, "b", "k", 0, ""}},
		{"PUT", "/b", target{Other, "b", "", 0, ""}},
		{"PUT", "/b/", target{Other, "b", "", 0, ""}},
		{"POST", "/b/k?uploads=", target{Create, "b", "k", 0, ""}},
		{"POST", "/b/k?uploadId=u", target{Complete, "b", "k", 0, "u"}},
		{"POST", "/mint/parts", target{Other, "mint", "parts", 0, ""}},
		{"DELETE", "/b/k?uploadId=u", target{Abort, "b", "k", 0, "u"}},
		{"DELETE", "/b/k", target{Delete, "b", "k", 0, ""}},
		{"GET", "/b/k?uploadId=u&max-parts=2", target{ListParts, "b", "k", 0, "u"}},
		{"GET", "/b?uploads&prefix=k", target{ListUploads, "b", "", 0, ""}},
		{"GET", "/b/k", target{Get, "b", "k", 0, ""}},
		{"GET", "/b/k?attributes", target{Other, "b", "k", 0, ""}},
		{"GET", "/", target{Other, "", "", 0, ""}},
		{"HEAD", "/b/k", target{Head, "b", "k", 0, ""}},
		{"HEAD", "/b", target{Other, "b", "", 0, ""}},
		{"OPTIONS", "/b/k", target{Other, "b", "k", 0, ""}},
	} {
		r := httptest.NewRequest(c.method, c.url, http.NoBody)
		if got := parse(r.Method, r.URL); got != c.want {
			t.Errorf("%s %s: %+v, want %+v", c.method, c.url, got, c.want)
		}
	}
}

func TestOpNames(t *testing.T) {
	for op, want := range map[Op]string{Any: "Any", PutPart: "PutPart", ListUploads: "ListUploads", Other: "Other", Other + 1: "Op(12)"} {
		if got := op.String(); got != want {
			t.Errorf("%d is %s, want %s", op, got, want)
		}
	}
}

// hits sends three rounds of parts 1 to 7 and tells which met which rule.
func hits(list ...Rule) map[int][]int {
	var s rules
	s.add(list)
	got := map[int][]int{}
	for round := 1; round <= 3; round++ {
		for part := 1; part <= 7; part++ {
			r := s.take(target{op: PutPart, bucket: "b", key: "k", part: part, uploadID: string(rune('a' + round))}, 1, time.Time{})
			if r != nil {
				got[r.Status] = append(got[r.Status], 10*part+round)
			}
		}
	}
	return got
}

func TestRulesChooseRequests(t *testing.T) {
	for name, c := range map[string]struct {
		rules []Rule
		want  map[int][]int // status → part and round
	}{
		"each once":        {[]Rule{{}}, map[int][]int{0: {11, 21, 31, 41, 51, 61, 71}}},
		"every third once": {[]Rule{{Op: PutPart, Every: 3, Status: 503}}, map[int][]int{503: {31, 61}}},
		"one part":         {[]Rule{{Part: 2, Count: -1, Status: 500}}, map[int][]int{500: {21, 22, 23}}},
		"from the second":  {[]Rule{{Part: 2, From: 2, Count: -1, Status: 500}}, map[int][]int{500: {22, 23}}},
		"two in a row":     {[]Rule{{Part: 5, From: 1, Count: 2, Status: 500}}, map[int][]int{500: {51, 52}}},
		"other operation":  {[]Rule{{Op: Complete, Count: -1, Status: 500}}, map[int][]int{}},
		"the third of all": {[]Rule{{Together: true, From: 3, Status: 500}}, map[int][]int{500: {31}}},
		"the third of all and four more": {
			[]Rule{{Op: PutPart, Together: true, From: 6, Count: 4, Status: 500}}, map[int][]int{500: {61, 71, 12, 22}},
		},
		"first rule wins, both count": {
			[]Rule{{Part: 4, Status: 500}, {Part: 4, Status: 501}, {Part: 4, From: 2, Status: 502}},
			map[int][]int{500: {41}, 502: {42}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, hits(c.rules...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRulesCountKeysApart(t *testing.T) {
	var s rules
	s.add([]Rule{{Op: Create, Status: 500}})
	for _, key := range []string{"a", "b"} {
		if s.take(target{op: Create, bucket: "x", key: key}, 1, time.Time{}) == nil {
			t.Errorf("the first Create of %s was spared", key)
		}
		if s.take(target{op: Create, bucket: "x", key: key}, 1, time.Time{}) != nil {
			t.Errorf("the second Create of %s was hit", key)
		}
	}
	if s.take(target{op: Create, bucket: "y", key: "a"}, 1, time.Time{}) == nil {
		t.Error("the first Create in another bucket was spared")
	}
	s.clear()
	if s.take(target{op: Create, bucket: "z", key: "a"}, 1, time.Time{}) != nil {
		t.Error("a forgotten rule was applied")
	}
}

func TestRulesForATime(t *testing.T) {
	var s rules
	s.add([]Rule{{Op: PutPart, Count: -1, For: 2 * time.Second}, {Op: Create, Count: 2, For: time.Hour}})
	begin := time.Now()
	for _, c := range []struct {
		op  Op
		at  time.Duration
		hit bool
	}{
		{Create, 0, true}, {PutPart, 5 * time.Second, true}, {PutPart, 7*time.Second - 1, true},
		{PutPart, 7 * time.Second, false}, {PutPart, 6 * time.Second, true},
		{Create, 9 * time.Second, true}, {Create, 9 * time.Second, false},
	} {
		if hit := s.take(target{op: c.op}, 1, begin.Add(c.at)) != nil; hit != c.hit {
			t.Errorf("%v after %v: hit is %v", c.op, c.at, hit)
		}
	}
}

func TestRulesForConnections(t *testing.T) {
	var s rules
	s.add([]Rule{{Conns: 2, Count: -1}})
	for conn, want := range map[int64]bool{1: true, 2: true, 3: false} {
		if hit := s.take(target{op: PutPart}, conn, time.Now()) != nil; hit != want {
			t.Errorf("connection %d: hit is %v", conn, hit)
		}
	}
}

func TestEveryNeedsAPart(t *testing.T) {
	r := Rule{Every: 3}
	if r.matches(target{op: Complete}, 1) {
		t.Error("a request without part number is every third part")
	}
}

func TestDueIsAWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{From: rapid.IntRange(0, 9).Draw(t, "from"), Count: rapid.IntRange(-2, 9).Draw(t, "count")}
		first, n := 0, 0
		for k := 1; k <= 50; k++ {
			if r.due(k) {
				n++
				if first == 0 {
					first = k
				}
			}
		}
		want := max(r.Count, 1)
		if r.Count < 0 {
			want = 50 - first + 1
		}
		if first != max(r.From, 1) || n != want {
			t.Fatalf("%+v: %d hits from %d on, want %d", r, n, first, want)
		}
	})
}
