package mint

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// fakeService answers a client in the place of a network. What it is asked after the
// first question goes to answer.
type fakeService struct {
	about  string        // what it says of itself; empty: 404
	offset time.Duration // its clock is ahead by so much
	answer func(f fakeCall) (*http.Response, error)

	mu    sync.Mutex
	calls []fakeCall
}

// fakeCall is one that the service has had.
type fakeCall struct {
	*http.Request
	n    int // of those with the same path and query, from 1
	at   time.Time
	body string
}

const fakeAbout = `{"version":1,"bucket":"bucket","chooseKeys":true,"headers":["Cache-Control"],
	"store":{"minPart":1,"algorithm":"crc64nvme","fullObject":true,"createOnly":true}}`

func (s *fakeService) RoundTrip(r *http.Request) (*http.Response, error) {
	call := fakeCall{Request: r, n: 1, at: time.Now()}
	if r.Body != nil {
		data, _ := io.ReadAll(r.Body)
		call.body = string(data)
	}
	s.mu.Lock()
	for _, earlier := range s.calls {
		if earlier.Method == r.Method && earlier.URL.RequestURI() == r.URL.RequestURI() {
			call.n++
		}
	}
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	resp, err := s.reply(call)
	if resp != nil {
		if resp.Header.Get("Date") == "" {
			resp.Header.Set("Date", time.Now().Add(s.offset).UTC().Format(http.TimeFormat))
		}
		resp.Request = r
	}
	return resp, err
}

func (s *fakeService) reply(call fakeCall) (*http.Response, error) {
	switch {
	case call.URL.Path == pathAbout && s.about != "":
		return reply(200, s.about), nil
	case call.URL.Path == pathAbout:
		return reply(404, `{"message":"Not Found"}`), nil
	}
	return s.answer(call)
}

// since are the calls after the first question.
func (s *fakeService) since() []fakeCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	var calls []fakeCall
	for _, c := range s.calls {
		if c.URL.Path != pathAbout {
			calls = append(calls, c)
		}
	}
	return calls
}

// reply is an answer; header alternates names and values.
func reply(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

// replyJSON is an answer of success.
func replyJSON(t testing.TB, v any) *http.Response {
	data, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	return reply(200, string(data))
}

// signsAll answers every question for requests with ones that live so long.
func signsAll(t testing.TB, life time.Duration) func(fakeCall) (*http.Response, error) {
	return func(c fakeCall) (*http.Response, error) {
		sign := func(number, checksum string) signedRequest {
			end := time.Now().Add(life)
			return signedRequest{Method: "PUT", URL: fmt.Sprintf("https://store/%s?n=%s&c=%s", c.URL.Query().Get("key"), number, checksum),
				Headers: map[string]string{"X-Amz-Checksum-Crc64nvme": checksum}, Expires: int64(life / time.Second), NotAfter: &end}
		}
		q := c.URL.Query()
		if !strings.HasSuffix(c.URL.Path, "/batch") {
			return replyJSON(t, sign(c.URL.Path[strings.LastIndex(c.URL.Path, "/")+1:], q.Get("checksum"))), nil
		}
		parts := map[string]signedRequest{}
		checksums := strings.Split(q.Get("checksums"), ",")
		for i, number := range strings.Split(q.Get("partNumbers"), ",") {
			parts[number] = sign(number, checksums[i])
		}
		return replyJSON(t, batchResponse{Parts: parts}), nil
	}
}

// dialFake returns a client of the service whose waits are as long as they can be.
func dialFake(t testing.TB, s *fakeService, change ...func(*ClientOptions)) *Client {
	t.Helper()
	o := &ClientOptions{HTTP: &http.Client{Transport: s}, Rand: func() float64 { return 1 }}
	for _, f := range change {
		f(o)
	}
	c, err := Dial(t.Context(), "https://mint.example.com/", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// clientLeaksNothing fails the test if a goroutine is left when everything that is
// registered later has been cleaned up.
func clientLeaksNothing(t *testing.T) {
	current := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := goleak.Find(current); err != nil {
			t.Error(err)
		}
	})
}
