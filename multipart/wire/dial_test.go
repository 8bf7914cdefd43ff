package wire

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func addresses(list string) (found []netip.Addr) {
	for a := range strings.FieldsSeq(list) {
		found = append(found, netip.MustParseAddr(a))
	}
	return found
}

func TestInTurn(t *testing.T) {
	for _, tc := range []struct {
		found string
		turn  uint32
		want  string
	}{
		{"1.1.1.1", 0, "1.1.1.1"},
		{"1.1.1.1", 1<<32 - 1, "1.1.1.1"},
		{"1.1.1.1 1.1.1.2 1.1.1.3", 0, "1.1.1.1 1.1.1.2 1.1.1.3"},
		{"1.1.1.1 1.1.1.2 1.1.1.3", 1, "1.1.1.2 1.1.1.3 1.1.1.1"},
		{"1.1.1.1 1.1.1.2 1.1.1.3", 2, "1.1.1.3 1.1.1.1 1.1.1.2"},
		{"1.1.1.1 1.1.1.2 1.1.1.3", 3, "1.1.1.1 1.1.1.2 1.1.1.3"},
		{"::1 ::2 1.1.1.1 1.1.1.2", 1, "::2 1.1.1.2 1.1.1.1 ::1"},
		{"1.1.1.1 ::1 ::2", 1, "1.1.1.1 ::2 ::1"},
		{"::ffff:1.1.1.1 1.1.1.2", 1, "1.1.1.2 1.1.1.1"},
		{"", 1, ""},
	} {
		var got []string
		for _, a := range inTurn(addresses(tc.found), tc.turn) {
			got = append(got, a.String())
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s, turn %d: %s, want %s", tc.found, tc.turn, got, tc.want)
		}
	}
}

// played is a network in which an address answers after a while, or refuses.
type played struct {
	after  map[string]time.Duration
	refuse map[string]bool
	open   atomic.Int32
}

type counted struct {
	net.Conn
	open *atomic.Int32
	name string
}

func (c counted) Close() error { c.open.Add(-1); return nil }

func (p *played) dial(ctx context.Context, a netip.Addr) (net.Conn, error) {
	select {
	case <-time.After(p.after[a.String()]):
	case <-ctx.Done():
		if p.after[a.String()] != 400*time.Millisecond { // this one cannot be stopped
			return nil, ctx.Err()
		}
	}
	if p.refuse[a.String()] {
		return nil, errors.New("refused by " + a.String())
	}
	p.open.Add(1)
	return counted{open: &p.open, name: a.String()}, nil
}

func TestRace(t *testing.T) {
	const ms = time.Millisecond
	cases := map[string]struct {
		list   string
		after  map[string]time.Duration
		refuse map[string]bool
		want   string // the address, or the error
		took   time.Duration
	}{
		"first":           {"1.1.1.1 1.1.1.2", map[string]time.Duration{"1.1.1.1": 299 * ms}, nil, "1.1.1.1", 299 * ms},
		"first is silent": {"1.1.1.1 1.1.1.2", map[string]time.Duration{"1.1.1.1": time.Hour, "1.1.1.2": 50 * ms}, nil, "1.1.1.2", 350 * ms},
		"first is slow":   {"1.1.1.1 1.1.1.2", map[string]time.Duration{"1.1.1.1": 400 * ms, "1.1.1.2": 50 * ms}, nil, "1.1.1.2", 350 * ms},
		"first refuses":   {"1.1.1.1 1.1.1.2", map[string]time.Duration{"1.1.1.1": 10 * ms}, map[string]bool{"1.1.1.1": true}, "1.1.1.2", 10 * ms},
		"all refuse":      {"1.1.1.1 1.1.1.2", nil, map[string]bool{"1.1.1.1": true, "1.1.1.2": true}, "refused by 1.1.1.1", 0},
		"nobody answers":  {"1.1.1.1 1.1.1.2", map[string]time.Duration{"1.1.1.1": time.Hour, "1.1.1.2": time.Hour}, nil, "context deadline exceeded", 10 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &played{after: tc.after, refuse: tc.refuse}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				start := time.Now()
				c, err := race(ctx, addresses(tc.list), p.dial)
				took := time.Since(start)
				got, open := "", int32(0)
				if err != nil {
					got = err.Error()
				} else {
					got, open = c.(counted).name, 1
				}
				if got != tc.want || took != tc.took {
					t.Errorf("%s after %v, want %s after %v", got, took, tc.want, tc.took)
				}
				time.Sleep(time.Second)
				if p.open.Load() != open {
					t.Errorf("%d connections are open", p.open.Load())
				}
			})
		})
	}
}

// Each connection begins with another address of the name, and its port stays.
func TestDialName(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := NewClient(Options{})
	asked := ""
	c.lookup = func(_ context.Context, network, host string) ([]netip.Addr, error) {
		asked += network + " " + host + " "
		return addresses("127.0.0.1"), nil
	}
	conn, err := c.dialName(t.Context(), "tcp", net.JoinHostPort("store.test", port))
	if err != nil || conn.RemoteAddr().String() != l.Addr().String() || asked != "ip store.test " || c.turn.Load() != 1 {
		t.Fatalf("asked %q, turn %d, err = %v", asked, c.turn.Load(), err)
	}
	conn.Close()
	if conn, err = c.dialName(t.Context(), "tcp", l.Addr().String()); err != nil || asked != "ip store.test " {
		t.Fatalf("asked %q for a number, err = %v", asked, err)
	}
	conn.Close()
}

// A name without addresses is known as such by whoever classifies it.
func TestDialUnknownName(t *testing.T) {
	c := NewClient(Options{})
	for _, err := range []error{nil, &net.DNSError{Err: "no such host", Name: "store.test", IsNotFound: true}} {
		c.lookup = func(context.Context, string, string) ([]netip.Addr, error) { return nil, err }
		_, err = c.dialName(t.Context(), "tcp", "store.test:443")
		var dns *net.DNSError
		if !errors.As(err, &dns) || !dns.IsNotFound || !strings.HasPrefix(err.Error(), "dial tcp: lookup store.test") {
			t.Errorf("err = %v", err)
		}
	}
}
