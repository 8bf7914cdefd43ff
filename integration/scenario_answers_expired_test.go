package integration

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// onceMade is a provider that made every request at its beginning and has no
// other: a list of URLs. Those of the parts from dead on were over before the
// upload began.
type onceMade struct {
	lab  *lab
	dead int
	over time.Time // when the dead ones ended
	says bool      // when a request ends

	mu    sync.Mutex
	made  map[int]presign.Request
	asked map[int]int
}

func (o *onceMade) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made == nil {
		o.made, o.asked = map[int]presign.Request{}, map[int]int{}
	}
	o.asked[p.Number]++
	if r, ok := o.made[p.Number]; ok {
		return r, nil
	}
	r, err := s3presign.New(o.lab.client, 0).Presign(ctx, p)
	if p.Number >= o.dead {
		r, err = o.lab.signedUntil(ctx, p, o.over)
	}
	if !o.says {
		r.NotAfter = time.Time{}
	}
	o.made[p.Number] = r
	return r, err
}

// times is how often a part was asked for. A part that the end of the upload
// took by surprise may still be at it: its call is shared, and outlives it.
func (o *onceMade) times(part int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked[part]
}

// signedUntil signs a request for a part that ends then.
func (l *lab) signedUntil(ctx context.Context, p presign.Part, then time.Time) (presign.Request, error) {
	query := url.Values{"partNumber": {strconv.Itoa(p.Number)}, "uploadId": {p.UploadID}, "X-Amz-Expires": {"60"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, l.proxy.URL()+"/"+p.Bucket+"/"+p.Key+"?"+query.Encode(), nil)
	if err != nil {
		return presign.Request{}, err
	}
	req.Header.Set(p.ChecksumHeader, p.Checksum)
	keys, err := l.client.Options().Credentials.Retrieve(ctx)
	if err != nil {
		return presign.Request{}, err
	}
	signed, header, err := v4.NewSigner().PresignHTTP(ctx, keys, req, "UNSIGNED-PAYLOAD", "s3", "us-east-1", then.Add(-time.Minute))
	header.Del("Host")
	return presign.Request{Method: http.MethodPut, URL: signed, Header: header, NotAfter: then}, err
}

// R12, https://github.com/GlobalDataverseCommunityConsortium/dataverse-uploader/issues/30:
// one URL that had expired a minute ago was tried for ever. Here an upload whose
// provider has no better one ends soon, and a refusal that is not about time asks
// for no other URL at all.
func TestR12(t *testing.T) {
	src := check.Pattern(8 * 5 * mib)

	t.Run("a list of URLs", func(t *testing.T) {
		l := newLab(t, wire.Limits{})
		l.endpoint.Lanes = 4
		list := &onceMade{lab: l, dead: 5, over: time.Now().Add(-time.Hour)}
		l.provider = list
		_, err := l.upload(t, src)
		l.expired(t, err, list)
	})

	t.Run("a provider that repeats itself", func(t *testing.T) {
		l := newLab(t, wire.Limits{})
		l.endpoint.Lanes = 4
		list := &onceMade{lab: l, dead: 5, over: time.Now().Add(-time.Hour)}
		var renewals atomic.Int32
		l.provider = renewing{list, func() { renewals.Add(1) }}
		_, err := l.upload(t, src)
		l.expired(t, err, list)
		if renewals.Load() == 0 {
			t.Error("the provider was never told")
		}
	})

	t.Run("a list that knows when they end", func(t *testing.T) {
		l := newLab(t, wire.Limits{})
		list := &onceMade{lab: l, dead: 5, over: time.Now().Add(-time.Hour), says: true}
		l.provider = list
		_, err := l.upload(t, src)
		e := l.givesUp(t, err, wire.PutPart, "expired at ", list.over.UTC().Format(":04:05Z"))
		if e.Part < 5 || list.times(e.Part) > 3 {
			t.Errorf("part %d was minted %d times: %v", e.Part, list.times(e.Part), err)
		}
		for _, r := range l.parts() {
			if r.Part >= 5 {
				t.Errorf("part %d was sent with a request that was over", r.Part)
			}
		}
	})

	t.Run("forbidden", func(t *testing.T) {
		l := newLab(t, wire.Limits{}, faultproxy.Rule{Op: faultproxy.PutPart, Part: 5, Count: -1, Status: 403, Code: "AccessDenied",
			Message: "Access Denied."})
		list := &onceMade{lab: l, dead: 100}
		l.provider = list
		_, err := l.upload(t, src)
		e := l.givesUp(t, err, wire.PutPart, "403 AccessDenied", "request id FAULT")
		if e.Part != 5 || len(l.attempts(5)) != 1 || list.times(5) != 1 {
			t.Errorf("part %d: %d requests, %d times minted", e.Part, len(l.attempts(5)), list.times(5))
		}
	})

	t.Run("signed with a wrong key", func(t *testing.T) {
		l := newLab(t, wire.Limits{}, faultproxy.Rule{Op: faultproxy.PutPart, Part: 5, Count: -1, Status: 403, Code: "SignatureDoesNotMatch",
			Message: "The request signature we calculated does not match the signature you provided."})
		list := &onceMade{lab: l, dead: 100}
		l.provider = list
		_, err := l.upload(t, src)
		e := l.givesUp(t, err, wire.PutPart, "403 SignatureDoesNotMatch")
		if e.Part != 5 || len(l.attempts(5)) > 2 || list.times(5) > 2 || errors.Is(err, multipart.ErrExpired) {
			t.Errorf("part %d: %d requests, %d times minted: %v", e.Part, len(l.attempts(5)), list.times(5), err)
		}
	})
}

// renewing is a provider that claims to begin afresh.
type renewing struct {
	presign.Provider
	renew func()
}

func (r renewing) Renew(context.Context) error {
	r.renew()
	return nil
}

// expired fails the test unless the upload ended because of a request that was
// over, soon, and with the budget as it was.
func (l *lab) expired(t *testing.T, err error, list *onceMade) {
	t.Helper()
	e := l.givesUp(t, err, wire.PutPart, "403 AccessDenied: Request has expired", "request id")
	if !errors.Is(err, multipart.ErrExpired) || e.Part < 5 {
		t.Errorf("err = %v", err)
	}
	if b := l.used.Budget(); b.Requests != b.CapacityRequests {
		t.Errorf("budget %+v", b)
	}
	for part := 1; part <= 8; part++ {
		if requests := len(l.attempts(part)); requests > 1 || list.times(part) > 3 {
			t.Errorf("part %d: %d requests, minted %d times", part, requests, list.times(part))
		}
	}
	t.Logf("part %d: %d requests, minted %d times; %v", e.Part, len(l.attempts(e.Part)), list.times(e.Part), err)
}
