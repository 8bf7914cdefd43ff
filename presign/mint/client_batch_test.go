package mint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/presign"
)

// slowly lets the service think for so long before it answers.
func slowly(d time.Duration, answer func(fakeCall) (*http.Response, error)) func(fakeCall) (*http.Response, error) {
	return func(c fakeCall) (*http.Response, error) {
		if err := sleep(c.Context(), d); err != nil {
			return nil, err
		}
		return answer(c)
	}
}

func partNumbered(n int) presign.Part {
	p := somePart
	p.Number, p.Checksum = n, fmt.Sprintf("sum%d", n)
	return p
}

// isFor reports whether a request is for exactly this part.
func isFor(r presign.Request, p presign.Part) bool {
	return r.URL == fmt.Sprintf("https://store/%s?n=%d&c=%s", p.Key, p.Number, p.Checksum) && r.Header.Get(p.ChecksumHeader) == p.Checksum
}

// Fifty lanes that want a request at once cost two calls: the first goes alone, the
// others together while it is under way. 250 cost four, of at most 100 parts each.
func TestClientBatch(t *testing.T) {
	for lanes, calls := range map[int]int{1: 1, 2: 2, 50: 2, 101: 2, 102: 3, 250: 4} {
		t.Run(fmt.Sprint(lanes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeService{about: fakeAbout, answer: slowly(100*time.Millisecond, signsAll(t, time.Hour))}
				c := dialFake(t, s)
				start := time.Now()
				var wg sync.WaitGroup
				for n := range lanes {
					wg.Go(func() {
						p := partNumbered(n + 1)
						if r, err := c.Presign(t.Context(), p); err != nil || !isFor(r, p) {
							t.Errorf("part %d: %v, %v", p.Number, r, err)
						}
					})
				}
				wg.Wait()
				if got, took := len(s.since()), time.Since(start); got != calls || took != time.Duration(calls)*100*time.Millisecond {
					t.Errorf("%d calls in %v, want %d", got, took, calls)
				}
				for i, call := range s.since() {
					lone := i == 0 || i == calls-1 && (lanes-1)%maxBatch == 1
					if alone := !strings.HasSuffix(call.URL.Path, "/batch"); alone != lone {
						t.Errorf("call %d went to %s", i+1, call.URL.Path)
					}
					if len(call.URL.RequestURI()) > 6<<10 {
						t.Errorf("call %d has a line of %d bytes", i+1, len(call.URL.RequestURI()))
					}
				}
			})
		})
	}
}

// What a batch asks for is exactly what a call for each part would.
func TestClientBatchQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{about: fakeAbout, answer: slowly(time.Second, signsAll(t, time.Hour))}
		c := dialFake(t, s)
		var wg sync.WaitGroup
		for n := 1; n <= 3; n++ {
			wg.Go(func() { time.Sleep(time.Duration(n)); c.Presign(t.Context(), partNumbered(n)) })
		}
		wg.Wait()
		calls := s.since()
		if got, want := calls[0].URL.RequestURI(), "/s3/multipart/up%2Fload/1?checksum=sum1&checksumHeader=X-Amz-Checksum-Crc64nvme&key=dir%2Fkey&size=11"; got != want {
			t.Errorf("one: %s", got)
		}
		if got, want := calls[1].URL.RequestURI(), "/s3/multipart/up%2Fload/batch?checksumHeader=X-Amz-Checksum-Crc64nvme&checksums=sum2%2Csum3&key=dir%2Fkey&partNumbers=2%2C3&sizes=11%2C11"; got != want {
			t.Errorf("many: %s", got)
		}
	})
}

// Long checksums make the batches smaller: no line is longer than a proxy takes.
func TestClientBatchLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{about: fakeAbout, answer: slowly(time.Second, signsAll(t, time.Hour))}
		c := dialFake(t, s)
		var wg sync.WaitGroup
		for n := range 200 {
			wg.Go(func() {
				p := partNumbered(10000 - n)
				p.ChecksumHeader, p.Checksum, p.Size = "X-Amz-Checksum-Sha256", strings.Repeat("+/", 21)+"=", 5<<30
				if _, err := c.Presign(t.Context(), p); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, call := range s.since() {
			if n := len(call.URL.RequestURI()); n > 7<<10 {
				t.Errorf("a line of %d bytes", n)
			}
		}
	})
}

// Who wants the same request while it is made shares it; who gives up takes nobody
// with it; and the last one does end the call.
func TestClientShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		signs := signsAll(t, time.Hour)
		s := &fakeService{about: fakeAbout, answer: func(c fakeCall) (*http.Response, error) {
			if err := sleep(c.Context(), time.Second); err != nil {
				ended.Add(1)
				return nil, err
			}
			return signs(c)
		}}
		c := dialFake(t, s)
		impatient, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Presign(impatient, somePart); !errors.Is(err, context.Canceled) {
				t.Errorf("the first: %v", err)
			}
		})
		synctest.Wait()
		for range 9 {
			wg.Go(func() {
				r, err := c.Presign(t.Context(), somePart)
				if err != nil || !isFor(r, somePart) {
					t.Errorf("another: %v, %v", r, err)
				}
				if r.Header.Get("X-Mine") != "" {
					t.Error("the header is another's as well")
				}
				r.Header.Set("X-Mine", "1")
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		if len(s.since()) != 1 || ended.Load() != 0 {
			t.Errorf("%d calls, %d ended before their time", len(s.since()), ended.Load())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		c.Presign(ctx, somePart)
		synctest.Wait()
		if ended.Load() != 1 {
			t.Error("a call goes on that nobody waits for")
		}
		if r, err := c.Presign(t.Context(), somePart); err != nil || !isFor(r, somePart) {
			t.Errorf("after that: %v, %v", r, err)
		}
	})
}

// Part numbers are what tells the requests of a batch apart: a part that was read again
// goes in another one.
func TestClientBatchSameNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{about: fakeAbout, answer: slowly(time.Second, signsAll(t, time.Hour))}
		c := dialFake(t, s)
		var wg sync.WaitGroup
		parts := []presign.Part{partNumbered(1), partNumbered(2), partNumbered(3), partNumbered(2)}
		parts[3].Checksum = "other"
		for i, p := range parts {
			wg.Go(func() {
				time.Sleep(time.Duration(i))
				if r, err := c.Presign(t.Context(), p); err != nil || !isFor(r, p) {
					t.Errorf("part %d: %v, %v", i, r, err)
				}
			})
		}
		wg.Wait()
		if n := len(s.since()); n != 3 {
			t.Errorf("%d calls", n)
		}
	})
}

// Uploads do not wait for one another.
func TestClientBatchUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{about: fakeAbout, answer: slowly(time.Second, signsAll(t, time.Hour))}
		c := dialFake(t, s)
		start := time.Now()
		var wg sync.WaitGroup
		for n := range 5 {
			wg.Go(func() {
				p := somePart
				p.UploadID = fmt.Sprint(n)
				if _, err := c.Presign(t.Context(), p); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// A batch that fails fails for those in it, and not for those after it; a part that the
// answer lacks fails alone.
func TestClientBatchFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signs := signsAll(t, time.Hour)
		s := &fakeService{about: fakeAbout, answer: slowly(time.Second, func(c fakeCall) (*http.Response, error) {
			switch numbers := c.URL.Query().Get("partNumbers"); {
			case numbers == "":
				return signs(c)
			case strings.Contains(numbers, "13"):
				return reply(400, `{"error":"unlucky"}`), nil
			}
			return replyJSON(t, batchResponse{PresignedURLs: map[string]string{"20": "https://store/20"}}), nil
		})}
		c := dialFake(t, s)
		errs := map[int]*error{}
		var wg sync.WaitGroup
		ask := func(numbers ...int) {
			for _, n := range numbers {
				err := new(error)
				errs[n] = err
				wg.Go(func() { _, *err = c.Presign(t.Context(), partNumbered(n)) })
			}
		}
		ask(1)
		synctest.Wait()
		ask(12, 13)
		time.Sleep(1500 * time.Millisecond)
		ask(20, 21)
		wg.Wait()
		for n, want := range map[int]string{1: "", 12: "unlucky", 13: "unlucky", 20: "", 21: "no usable URL for part 21"} {
			if err := *errs[n]; (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("part %d: %v, want %q", n, err, want)
			}
		}
	})
}
