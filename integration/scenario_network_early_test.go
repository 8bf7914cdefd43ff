package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// rounds is how often each variant of R38 is seen to work: a race that loses an
// answer does so only now and then.
const rounds = 20

// https://github.com/minio/minio-py/issues/1116: a proxy refused a part before it
// had read it, and the client went on for ever or spoke of a broken pipe, because
// the reset that follows destroys the answer.
func TestR38EarlyRefusal(t *testing.T) {
	check.Leaks(t)
	together(t, map[string]func(*testing.T){
		"413 of a proxy":           tooLarge,
		"403 of an expired URL":    expired,
		"Expect is never answered": deafToExpect,
		"Expect is refused":        refusesExpect,
	})
}

// refused is a part that is in the middle of its bytes when it is refused. The
// store's buffers are too small to swallow it.
const refused = 2 * mib

func tooLarge(t *testing.T) {
	l := newRawLab(t, wire.Limits{}, rawstore.Options{ReadBuffer: 64 * kib, Rules: []rawstore.Rule{{Op: rawstore.PutPart, Count: -1,
		Do: early(http.StatusRequestEntityTooLarge, "text/html", "<html><h1>413 Request Entity Too Large</h1>nginx</html>")}}})
	var lost losses
	for range rounds {
		_, err := l.upload(t.Context(), t, check.Pattern(refused))
		if err == nil || !strings.Contains(err.Error(), "413") || !strings.Contains(err.Error(), "--part-size") || !strings.Contains(err.Error(), " bytes)") {
			t.Errorf("the error does not tell of 413 and the size of parts: %v", err)
		}
		lost.count(t, l)
	}
	lost.some(t)
	check.Absent(t, l.store.Client(), "bucket", "key")
	check.NoUploads(t, l.store.Client(), "bucket", "key")
}

// losses are uploads whose first answer was lost.
type losses int

// count looks at the last upload, which may have taken three requests.
func (n *losses) count(t *testing.T, l *rawLab) {
	t.Helper()
	all := tries(l.events, 1)
	if len(all) > 3 {
		t.Errorf("%d requests for one part, want at most 3", len(all))
	}
	if all[0].Status == 0 {
		*n++
	}
}

func (n losses) some(t *testing.T) {
	t.Helper()
	t.Logf("the first answer was lost in %d of %d uploads", n, rounds)
	if n == 0 {
		t.Error("no answer was lost: nothing was proved")
	}
}

// aging hands out URLs that the store takes for expired until it was told to
// renew.
type aging struct {
	presign.Provider
	renewals atomic.Int64
}

func (p *aging) Presign(ctx context.Context, part presign.Part) (presign.Request, error) {
	r, err := p.Provider.Presign(ctx, part)
	r.URL += fmt.Sprint("&renewals=", p.renewals.Load())
	return r, err
}

func (p *aging) Renew(context.Context) error {
	p.renewals.Add(1)
	return nil
}

func expired(t *testing.T) {
	l := newRawLab(t, wire.Limits{}, rawstore.Options{ReadBuffer: 64 * kib, Rules: []rawstore.Rule{{
		Op: rawstore.PutPart, Count: -1,
		Match: func(r *http.Request) bool { return r.URL.Query().Get("renewals") == "0" },
		Do: early(http.StatusForbidden, "application/xml",
			"<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"),
	}}})
	local, src := l.provider, check.Pattern(refused)
	var lost losses
	for range rounds {
		mint := &aging{Provider: local}
		l.provider = mint
		if _, err := l.upload(t.Context(), t, src); err != nil {
			t.Fatal(err)
		}
		if n := mint.renewals.Load(); n != 1 {
			t.Errorf("%d renewals", n)
		}
		lost.count(t, l)
		if b := l.used.Budget(); b.Requests != b.CapacityRequests {
			t.Errorf("budget %+v", b)
		}
	}
	lost.some(t)
	l.holds(t, src)
}

func deafToExpect(t *testing.T) {
	tests := map[string]func(*testing.T){}
	for i := range rounds {
		tests[fmt.Sprint(i)] = func(t *testing.T) {
			asksOnce(t, 40, rawstore.Rule{Op: rawstore.PutPart, Count: -1, Do: []rawstore.Step{rawstore.ReadAll(), rawstore.Reply()}})
		}
	}
	together(t, tests)
}

func refusesExpect(t *testing.T) {
	for range rounds {
		asksOnce(t, 12, rawstore.Rule{
			Op: rawstore.PutPart, Count: -1,
			Match: func(r *http.Request) bool { return r.Header.Get("Expect") != "" },
			Do:    []rawstore.Step{rawstore.Refuse(http.StatusExpectationFailed, "", ""), rawstore.Close()},
		})
	}
}

// asksOnce uploads small parts of which every fourth is cut at first, so that the
// next attempt asks before it sends. By the rule that is in vain, and must not be
// done again. There is one lane, so that no part can ask while another waits.
func asksOnce(t *testing.T, parts int, rule rawstore.Rule) {
	cut := rawstore.Rule{
		Op: rawstore.PutPart,
		Match: func(r *http.Request) bool {
			var part int
			fmt.Sscan(r.URL.Query().Get("partNumber"), &part)
			return part%4 == 0
		},
		Do: []rawstore.Step{rawstore.Read(16 * kib), rawstore.Reset()},
	}
	l := newRawLab(t, wire.Limits{}, rawstore.Options{Rules: []rawstore.Rule{cut, rule}})
	l.options.PartSize = 64 * kib
	l.endpoint = multipart.EndpointOptions{Lanes: 1, Budget: budget.Options{Retries: 100}}
	res := l.uploaded(t, check.Pattern(int64(parts)*64*kib))
	asked := slices.DeleteFunc(l.store.Of(rawstore.PutPart, 0), func(r rawstore.Request) bool { return !r.Asked })
	if len(asked) != 1 || asked[0].First.Sub(asked[0].Start) > 2*time.Second {
		t.Errorf("asked in vain, again and again or for long: %+v", asked)
	}
	if res.Retries < parts/4 || res.Retries > parts/4+1 {
		t.Errorf("%d retries of %d parts that were cut", res.Retries, parts/4)
	}
}

// Who asks first hears the refusal, also of a server that closes the connection
// without having said so, and sends not a byte of the body.
func TestExpectHearsTheRefusal(t *testing.T) {
	check.Leaks(t)
	s := rawstore.Start(t, rawstore.Options{ReadBuffer: 64 * kib, Rules: []rawstore.Rule{{Count: -1,
		Do: []rawstore.Step{rawstore.Refuse(http.StatusForbidden, "AccessDenied", "no"), rawstore.Close()}}}})
	c := wire.NewClient(wire.Options{})
	t.Cleanup(c.CloseIdle)
	lost, begun := 0, 0
	for range 500 {
		taken := 0
		answer, _ := c.Do(t.Context(), wire.Request{Method: http.MethodPut, URL: s.URL() + "/bucket/key", Expect: true,
			Body: io.NewSectionReader(check.Pattern(mib), 0, mib), Size: mib, Progress: func(n int) { taken += n }})
		if answer.Status != http.StatusForbidden {
			lost++
		}
		if taken > 0 {
			begun++
		}
	}
	if lost > 0 || begun > 0 {
		t.Errorf("of 500 refusals %d were lost; %d times the body was begun", lost, begun)
	}
}
