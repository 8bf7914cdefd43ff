package sink

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// put sends an object with a client that tries once.
func put(c *http.Client, s *Server, size int) (int, error) {
	req, err := http.NewRequest(http.MethodPut, s.URL()+"/b/k", strings.NewReader(strings.Repeat("x", size)))
	if err != nil {
		return 0, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, errors.Join(err, resp.Body.Close())
}

func plainClient(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// The same seed refuses the same requests, and about as many as it should.
func TestRefuse(t *testing.T) {
	var runs [2]string
	for i := range runs {
		s := start(t, Options{Refuse: 0.2, Seed: 7})
		c := plainClient(t)
		for range 100 {
			status, err := put(c, s, 1)
			if err != nil {
				t.Fatal(err)
			}
			runs[i] += http.StatusText(status)[:1]
		}
		refused := s.Counters().Refused
		if refused < 8 || refused > 35 || int(refused) != strings.Count(runs[i], "S") || s.Counters().Objects != 100-refused {
			t.Errorf("refused %d: %s", refused, runs[i])
		}
	}
	if runs[0] != runs[1] {
		t.Errorf("%s\n%s", runs[0], runs[1])
	}
}

// The rates hold over what fits into no buffer: nothing is faster than they allow.
func TestRates(t *testing.T) {
	for _, o := range []Options{{ConnRate: 20e6}, {TotalRate: 20e6}, {ConnRate: 100e6, TotalRate: 20e6}, {TLS: true, ConnRate: 20e6}} {
		s := start(t, o)
		c := plainClient(t)
		if o.TLS {
			c = client(t, s).Options().HTTPClient.(*http.Client)
		}
		begin := time.Now()
		if _, err := put(c, s, 4e6); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 150*time.Millisecond { // 200 but for a first burst
			t.Errorf("%+v: %v", o, took)
		}
	}
}

// The third connection of twenty freezes, the others do not, and it stays open.
func TestFreeze(t *testing.T) {
	s := start(t, Options{Freeze: 20})
	for i := 1; i <= 4; i++ {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "PUT /b/k HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"); err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			for s.Counters().Frozen == 0 {
				time.Sleep(time.Millisecond)
			}
			continue
		}
		if _, err := c.Read(make([]byte, 12)); err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	if got := s.Counters(); got.Frozen != 1 || got.Objects != 3 || got.Connections != 4 {
		t.Errorf("%+v", got)
	}
}

// A connection ends after its uses, and says so.
func TestConnUses(t *testing.T) {
	s := start(t, Options{ConnUses: 2})
	c := plainClient(t)
	for range 6 {
		if status, err := put(c, s, 1); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
	}
	if got := s.Counters().Connections; got != 3 {
		t.Errorf("%d connections", got)
	}
}

func TestAnswerDelay(t *testing.T) {
	s := start(t, Options{AnswerDelay: 50 * time.Millisecond})
	begin := time.Now()
	if _, err := put(plainClient(t), s, 1); err != nil || time.Since(begin) < 50*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

// An outage begins once so many bytes have come, cuts what is open, refuses what is
// new, and ends; Reset brings it back.
func TestOutage(t *testing.T) {
	s := start(t, Options{Outage: Outage{After: 1000, For: 300 * time.Millisecond}})
	for range 2 {
		s.Reset()
		c := plainClient(t)
		if _, err := put(c, s, 999); err != nil {
			t.Fatal(err)
		}
		if _, err := put(c, s, 1); err == nil {
			t.Error("the outage cuts nothing")
		}
		if _, err := net.Dial("tcp", s.addr); err == nil {
			t.Error("the outage refuses nothing")
		}
		for _, err := put(c, s, 1); err != nil; _, err = put(c, s, 1) {
			time.Sleep(5 * time.Millisecond)
		}
		if over := s.Counters().OutageOver; over == nil || time.Since(*over) < 0 {
			t.Errorf("it was over at %v", over)
		}
	}
}

// In a silent one everything waits, and goes on. It is begun over the control address.
func TestSilence(t *testing.T) {
	s := start(t, Options{})
	control := httptest.NewServer(s.Control())
	defer control.Close()
	post := func(path string, want int) {
		t.Helper()
		resp, err := http.Post(control.URL+path, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	post("/outage?for=never", http.StatusBadRequest)
	begin := time.Now()
	post("/outage?for=200ms&silent=true", http.StatusOK)
	if status, err := put(plainClient(t), s, 1); err != nil || status != http.StatusOK || time.Since(begin) < 200*time.Millisecond {
		t.Errorf("%d, %v after %v", status, err, time.Since(begin))
	}
	resp, err := http.Get(control.URL + "/counters")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var c Counters
	if err := json.NewDecoder(resp.Body).Decode(&c); err != nil || c.Requests[Put] != 1 || c.OutageOver == nil {
		t.Errorf("%+v, %v", c, err)
	}
	post("/reset", http.StatusOK)
	if c := s.Counters(); c.Total != 0 || c.Objects != 0 {
		t.Errorf("after the reset: %+v", c)
	}
}

// Nothing is read in a silent one: the client's buffers fill.
func TestSilenceReadsNothing(t *testing.T) {
	s := start(t, Options{})
	s.BeginOutage(Outage{For: time.Hour, Silent: true})
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(c, "PUT /b/k HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"+strings.Repeat("x", 64*mib))
	if slow, ok := errors.AsType[net.Error](err); !ok || !slow.Timeout() {
		t.Errorf("it went up: %v", err)
	}
}
