package mint

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

var (
	someUpload = multipart.Upload{Bucket: "bucket", Key: "dir/key", ID: "up/load"}
	somePart   = presign.Part{Bucket: "bucket", Key: "dir/key", UploadID: "up/load", Number: 7, Size: 11,
		ChecksumHeader: "X-Amz-Checksum-Crc64nvme", Checksum: "rosUhgp5mIg="}
	someIntent = multipart.Intent{Bucket: "bucket", Key: "dir/key", Size: 11,
		Header: http.Header{"X-Amz-Meta-Chunkup-Token": {"the-token"}, "Content-Type": {"text/plain"}}}
)

// every is each call, by name, and whether the client makes it again by itself.
var everyCall = map[string]struct {
	again bool
	call  func(context.Context, *Client) error
}{
	"create": {true, func(ctx context.Context, c *Client) error { _, err := c.Create(ctx, someIntent); return err }},
	"list":   {true, func(ctx context.Context, c *Client) error { _, err := c.List(ctx, someUpload); return err }},
	"head":   {true, func(ctx context.Context, c *Client) error { _, err := c.Head(ctx, "bucket", "dir/key"); return err }},
	"abort":  {true, func(ctx context.Context, c *Client) error { return c.Abort(ctx, someUpload) }},
	"sign":   {true, func(ctx context.Context, c *Client) error { _, err := c.Presign(ctx, somePart); return err }},
	"params": {true, func(ctx context.Context, c *Client) error {
		_, err := c.Presign(ctx, presign.Part{Bucket: "bucket", Key: "k"})
		return err
	}},
	"complete": {false, func(ctx context.Context, c *Client) error {
		_, err := c.Complete(ctx, someUpload, multipart.Completion{})
		return err
	}},
	"create without a token": {false, func(ctx context.Context, c *Client) error {
		_, err := c.Create(ctx, multipart.Intent{Bucket: "bucket", Key: "k", Size: -1})
		return err
	}},
}

// The client's own retries: after how long, how often, and the number on each.
func TestClientRetrySchedule(t *testing.T) {
	for name, tt := range everyCall {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeService{about: fakeAbout, answer: func(c fakeCall) (*http.Response, error) {
					if c.n%2 == 0 {
						return nil, syscall.ECONNRESET
					}
					return reply(502, "<html>bad gateway</html>"), nil
				}}
				c := dialFake(t, s)
				start := time.Now()
				err := tt.call(t.Context(), c)
				if service, ok := errors.AsType[*multipart.ServiceError](err); !ok || service.Service != "https://mint.example.com" {
					t.Errorf("error %v", err)
				}
				var got, want []string
				for _, call := range s.since() {
					got = append(got, call.Header.Get("Upload-Attempt")+" after "+call.at.Sub(start).String())
				}
				want = []string{"1 after 0s"}
				if tt.again {
					want = append(want, "2 after 250ms", "3 after 750ms", "4 after 1.75s", "5 after 3.75s")
				} else if name == "complete" { // after the answer, and not after the silence
					want = append(want, "2 after 250ms")
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}

// The wait is never longer than its cap, and full jitter makes it any shorter one.
func TestClientBackoff(t *testing.T) {
	random := 1.0
	c := &caller{rand: func() float64 { return random }}
	for attempts, want := range map[int]time.Duration{1: 250 * time.Millisecond, 2: 500 * time.Millisecond, 5: 4 * time.Second, 6: 4 * time.Second, 1000: 4 * time.Second} {
		if got := c.backoff(attempts); got != want {
			t.Errorf("after %d attempts %v, want %v", attempts, got, want)
		}
	}
	if random = 0; c.backoff(3) != 0 {
		t.Errorf("after a random number of 0: %v", c.backoff(3))
	}
}

// A Complete may have been done where it was answered with trouble: that is what is
// returned, for the caller to look, unless a later answer settles it.
func TestClientComplete(t *testing.T) {
	const good = `{"location":"https://store/k","key":"k","bucket":"bucket","etag":"\"e\""}`
	gone := `{"error":"x","store":{"status":404,"code":"NoSuchUpload"}}`
	exists := `{"error":"x","store":{"status":412,"code":"PreconditionFailed"}}`
	invalid := `{"error":"x","store":{"status":400,"code":"InvalidPart"}}`
	for name, tt := range map[string]struct {
		plain   bool
		answers []string // a status and a body
		calls   int
		want    string // what the error says
	}{
		"at once":                   {false, []string{"200 " + good}, 1, ""},
		"trouble, then done":        {false, []string{"502 ", "503 ", "500 ", "429 ", "200 " + good}, 5, ""},
		"trouble to the end":        {false, []string{"502 first", "503 ", "503 ", "503 ", "503 "}, 5, "status 502 Bad Gateway: first"},
		"done before":               {false, []string{"502 ", "404 " + gone}, 2, "status 502"},
		"done before, only created": {false, []string{"502 ", "412 " + exists}, 2, "status 502"},
		"unknown after trouble":     {false, []string{"502 ", `404 {"error":"no such upload"}`}, 2, "status 502"},
		"not done before":           {false, []string{"502 ", "400 " + invalid}, 2, "InvalidPart"},
		"gone":                      {false, []string{"404 " + gone}, 1, "status 404 NoSuchUpload"},
		"at it yet":                 {false, []string{"504 "}, 1, "status 504"},
		"plain":                     {true, []string{"502 "}, 1, "status 502"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeService{about: fakeAbout, answer: func(c fakeCall) (*http.Response, error) {
					status, body, _ := strings.Cut(tt.answers[c.n-1], " ")
					n, err := strconv.Atoi(status)
					return reply(n, body), err
				}}
				if tt.plain {
					s.about = ""
				}
				info, err := dialFake(t, s).Complete(t.Context(), someUpload, multipart.Completion{})
				if got := len(s.since()); got != tt.calls {
					t.Errorf("%d calls, want %d", got, tt.calls)
				}
				if (err == nil) != (tt.want == "") || err == nil && info.ETag != `"e"` || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v, %v, want %q", info, err, tt.want)
				}
			})
		})
	}
}

// What is worth asking for again, and what is not.
func TestClientRetries(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		body   string
		calls  int
	}{
		"408":           {408, "", 5},
		"429":           {429, "", 5},
		"500":           {500, `{"message":"Something went wrong"}`, 5},
		"503":           {503, "", 5},
		"504":           {504, "", 5},
		"521 of a CDN":  {521, "", 5},
		"400":           {400, `{"error":"no"}`, 1},
		"401":           {401, `{"error":"no"}`, 1},
		"403":           {403, `{"error":"no"}`, 1},
		"404":           {404, `{"error":"no"}`, 1},
		"413":           {413, `{"error":"no"}`, 1},
		"422":           {422, `{"error":"no"}`, 1},
		"302":           {302, ``, 1},
		"junk":          {200, `<html>log in</html>`, 1},
		"the store's":   {503, `{"error":"x","store":{"status":503,"code":"SlowDown"}}`, 1},
		"a store's 403": {502, `{"error":"x","store":{"status":403,"code":"AccessDenied"}}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeService{about: fakeAbout, answer: func(fakeCall) (*http.Response, error) { return reply(tt.status, tt.body), nil }}
				if _, err := dialFake(t, s).List(t.Context(), someUpload); err == nil {
					t.Error("no error")
				}
				if got := len(s.since()); got != tt.calls {
					t.Errorf("%d calls, want %d", got, tt.calls)
				}
			})
		})
	}
}

// A signing call that fails twice is made a third time, so the part does not fail:
// R03, https://github.com/dandi/dandi-archive/issues/184 (and
// https://github.com/transloadit/uppy/issues/4908).
func TestClientRetrySucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := signsAll(t, time.Hour)
		s := &fakeService{about: fakeAbout, answer: func(c fakeCall) (*http.Response, error) {
			if c.n <= 2 {
				return reply(502, ""), nil
			}
			return good(c)
		}}
		r, err := dialFake(t, s).Presign(t.Context(), somePart)
		if err != nil || r.Method != "PUT" || len(s.since()) != 3 {
			t.Errorf("%v, %v after %d calls", r, err, len(s.since()))
		}
	})
}

// A Retry-After holds for every call of the client, and is bounded.
func TestClientRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		says string
		want time.Duration
	}{{"7", 7250 * time.Millisecond}, {"3600", 60250 * time.Millisecond}, {"junk", 250 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			s := &fakeService{about: fakeAbout, answer: func(c fakeCall) (*http.Response, error) {
				if c.n == 1 && c.Method == http.MethodGet {
					return reply(429, `{"error":"slow down"}`, "Retry-After", tt.says), nil
				}
				return reply(200, "[]"), nil
			}}
			c := dialFake(t, s)
			start := time.Now()
			other := make(chan time.Duration, 1)
			go func() {
				time.Sleep(time.Millisecond)
				c.Abort(t.Context(), someUpload)
				other <- time.Since(start)
			}()
			if _, err := c.List(t.Context(), someUpload); err != nil {
				t.Error(err)
			}
			if got := time.Since(start); got != tt.want {
				t.Errorf("Retry-After %s: again after %v, want %v", tt.says, got, tt.want)
			}
			if got := <-other; tt.says == "7" && got != 7*time.Second {
				t.Errorf("another call went after %v", got)
			}
		})
	}
}

// A service that hangs costs no more than its timeout each time, and Complete has more.
func TestClientHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{about: fakeAbout, answer: func(c fakeCall) (*http.Response, error) {
			<-c.Context().Done()
			return nil, context.Cause(c.Context())
		}}
		c := dialFake(t, s, func(o *ClientOptions) { o.Retries = 1 })
		for name, want := range map[string]time.Duration{"list": 60*time.Second + 250*time.Millisecond, "complete": 10 * time.Minute, "sign": 30 * time.Second} {
			start := time.Now()
			err := everyCall[name].call(t.Context(), c)
			if _, ok := errors.AsType[*multipart.ServiceError](err); !ok || time.Since(start) != want {
				t.Errorf("%s: %v after %v, want %v", name, err, time.Since(start), want)
			}
		}
	})
}

// The end of the caller's context is told from a timeout, in the middle of a call and
// in the middle of a wait.
func TestClientCanceled(t *testing.T) {
	for name, answer := range map[string]func(fakeCall) (*http.Response, error){
		"call": func(c fakeCall) (*http.Response, error) {
			<-c.Context().Done()
			return nil, c.Context().Err()
		},
		"wait": func(fakeCall) (*http.Response, error) { return reply(503, "", "Retry-After", "30"), nil },
	} {
		for call, tt := range everyCall {
			if !tt.again && name == "wait" {
				continue
			}
			t.Run(call+" in the "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := dialFake(t, &fakeService{about: fakeAbout, answer: answer})
					why := errors.New("enough")
					ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
					defer cancel()
					start := time.Now()
					err := tt.call(ctx, c)
					if _, service := errors.AsType[*multipart.ServiceError](err); !errors.Is(err, why) || service && name == "call" || time.Since(start) != time.Second {
						t.Errorf("%v after %v", err, time.Since(start))
					}
				})
			})
		}
	}
}

// What the store has refused is passed on as the store's, whatever status it came with.
func TestClientStoreError(t *testing.T) {
	s := &fakeService{about: fakeAbout, answer: func(fakeCall) (*http.Response, error) {
		return reply(502, `{"error":"x","message":"x","store":{"status":403,"code":"AccessDenied","message":"Access Denied","requestId":"R1","retryAfterMs":1500}}`), nil
	}}
	c := dialFake(t, s)
	for name, tt := range everyCall {
		err := tt.call(t.Context(), c)
		got, ok := errors.AsType[*wire.StoreError](err)
		if _, service := errors.AsType[*multipart.ServiceError](err); !ok || service {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := &wire.StoreError{Status: 403, Code: "AccessDenied", Message: "Access Denied", RequestID: "R1", RetryAfter: 1500 * time.Millisecond}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// A nonsense status does not make a service's refusal the store's.
func TestClientStoreErrorJunk(t *testing.T) {
	for _, status := range []int{-1, 0, 1, 199, 600} {
		s := &fakeService{about: fakeAbout, answer: func(fakeCall) (*http.Response, error) {
			return reply(400, `{"error":"no","store":{"status":`+strconv.Itoa(status)+`}}`), nil
		}}
		_, err := dialFake(t, s).List(t.Context(), someUpload)
		if _, ok := errors.AsType[*multipart.ServiceError](err); !ok || !strings.Contains(err.Error(), "status 400") {
			t.Errorf("status %d: %v", status, err)
		}
	}
}
