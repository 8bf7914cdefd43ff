package mint

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/presign"
)

func TestClientDial(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		plain  bool
		denied bool
		fails  string // what the error says; empty: none
	}{
		{name: "ours", status: 200, body: fakeAbout},
		{name: "Companion", status: 404, body: `{"message":"Not Found"}`, plain: true},
		{name: "a page", status: 404, body: `<html>nothing here</html>`, plain: true},
		{name: "a page of success", status: 200, body: `<html>welcome</html>`, plain: true},
		{name: "other JSON", status: 200, body: `{"status":"ok"}`, plain: true},
		{name: "method unknown", status: 405, body: ``, plain: true},
		{name: "no token", status: 401, body: `{"error":"who are you?"}`, denied: true, fails: "refused the token (see --mint-header): status 401 Unauthorized: who are you?"},
		{name: "wrong token", status: 403, body: `{"error":"not you"}`, denied: true, fails: "status 403 Forbidden: not you"},
		{name: "in trouble", status: 502, body: `<html><h1>bad gateway</h1></html>`, fails: "status 502 Bad Gateway: bad gateway"},
		{name: "too many", status: 429, body: `{"error":"slow down"}`, fails: "status 429"},
		{name: "elsewhere", status: 301, body: ``, fails: "redirects to https://other.example.com, which is not followed"},
		{name: "unknown digest", status: 200, body: `{"version":1,"bucket":"b","store":{"algorithm":"blake9"}}`, fails: "unknown checksum algorithm"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clientLeaksNothing(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/base/s3/chunkup" {
					t.Errorf("asked for %s", r.URL.Path)
				}
				w.Header().Set("Location", "https://other.example.com/?token=secret")
				w.WriteHeader(tt.status)
				w.Write([]byte(tt.body))
			}))
			t.Cleanup(server.Close)
			c, err := Dial(t.Context(), server.URL+"/base/", &ClientOptions{Retries: -1})
			if tt.fails != "" {
				service, ok := errors.AsType[*multipart.ServiceError](err)
				if !ok || service.Service != server.URL+"/base" || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "secret") {
					t.Errorf("Dial: %v, want one that says %q", err, tt.fails)
				}
				if errors.Is(err, presign.ErrCredentials) != tt.denied {
					t.Errorf("Dial: %v, denied = %v", err, !tt.denied)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			if c.Plain() != tt.plain || c.Bucket() != c.About().Bucket || tt.plain == (c.Bucket() == "bucket") {
				t.Errorf("plain %v, bucket %q", c.Plain(), c.Bucket())
			}
		})
	}
}

func TestClientDialNobody(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := Dial(t.Context(), server.URL, &ClientOptions{Retries: -1})
	if _, ok := errors.AsType[*multipart.ServiceError](err); !ok || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Dial: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := Dial(ctx, server.URL, nil); err != why {
		t.Errorf("Dial: %v, want the cause", err)
	}
}

func TestClientDialAddress(t *testing.T) {
	for _, address := range []string{"", "mint", "ftp://secret.example.com", "https://", "https://host/?token=secret", "https://host/#secret", "https://ho st/secret", ":"} {
		if _, err := Dial(t.Context(), address, nil); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Dial(%q): %v", address, err)
		}
	}
}

// A name and a password in the address are for the service alone.
func TestClientDialUser(t *testing.T) {
	s := &fakeService{about: fakeAbout}
	c, err := Dial(t.Context(), "https://me:secret@mint.example.com/", &ClientOptions{HTTP: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	if user, password, _ := s.calls[0].BasicAuth(); user != "me" || password != "secret" {
		t.Errorf("asked as %s:%s", user, password)
	}
	if got := c.Traits().Endpoint; got != "https://mint.example.com" {
		t.Errorf("endpoint %s", got)
	}
}

func TestClientTraits(t *testing.T) {
	for name, tt := range map[string]struct {
		about string
		want  multipart.Traits
	}{
		"keys are chosen": {fakeAbout, multipart.Traits{Algorithm: chunker.CRC64NVME, FullObject: true, CreateOnly: true,
			SameCreate: true, Limits: chunker.Limits{MinPart: 1}}},
		"keys are the service's": {`{"version":1,"bucket":"b","maxSize":1000,"maxParts":7,"store":{"maxObject":2000,"maxParts":9,"maxPart":5,
			"algorithm":"md5","whole":"crc32c","equalParts":true,"opaqueETag":true,"googHash":true,"metaPrefix":"X-Goog-Meta-"}}`,
			multipart.Traits{Algorithm: chunker.MD5, Whole: chunker.CRC32C, SameCreate: true, PartsOnly: true, EqualParts: true,
				OpaqueETag: true, GoogHash: true, MetaPrefix: "X-Goog-Meta-", Limits: chunker.Limits{MaxObject: 1000, MaxParts: 7, MaxPart: 5}}},
		"the store's limits are less": {`{"version":1,"bucket":"b","chooseKeys":true,"maxSize":3000,"maxParts":10,"store":{"maxObject":2000,"maxParts":9}}`,
			multipart.Traits{SameCreate: true, Limits: chunker.Limits{MaxObject: 2000, MaxParts: 9}}},
		"plain": {"", multipart.Traits{Algorithm: chunker.MD5, PartsOnly: true, Unseen: true}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.want.Endpoint = "https://mint.example.com"
			got := dialFake(t, &fakeService{about: tt.about}).Traits()
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateComparable(chunker.Digest{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
