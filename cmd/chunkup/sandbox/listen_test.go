package sandbox

import (
	"net"
	"net/netip"
	"testing"
)

func TestLoopbackOnly(t *testing.T) {
	for listen, want := range map[string]string{
		"":                      "127.0.0.1:0",
		"127.0.0.1:9100":        "127.0.0.1:9100",
		"127.1.2.3:1":           "127.1.2.3:1",
		"localhost:9100":        "127.0.0.1:9100",
		"[::1]:9100":            "[::1]:9100",
		"[::ffff:127.0.0.1]:80": "[::ffff:127.0.0.1]:80",
		":9100":                 "",
		"0.0.0.0:9100":          "",
		"[::]:9100":             "",
		"192.168.1.2:9100":      "",
		"[::1%lo]:9100":         "",
		"example.com:9100":      "",
		"localhost.:9100":       "",
		"127.0.0.1":             "",
		"9100":                  "",
		"127.0.0.1:http":        "",
		"127.0.0.1:65536":       "",
		"127.0.0.1:-1":          "",
		"127.0.0.1:":            "",
		"/tmp/socket":           "",
		"@socket":               "",
	} {
		host, port, err := loopback(listen)
		if want == "" {
			if !is[*ListenError](err) {
				t.Errorf("loopback(%q) = %q, %q, %v; want a ListenError", listen, host, port, err)
			}
			continue
		}
		if got := net.JoinHostPort(host, port); err != nil || got != want {
			t.Errorf("loopback(%q) = %q, %v; want %q", listen, got, err, want)
		}
	}
}

func FuzzLoopback(f *testing.F) {
	for _, s := range []string{"", "127.0.0.1:0", "[::1]:9", "localhost:1", "0.0.0.0:1", "[::1%lo]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, listen string) {
		host, port, err := loopback(listen)
		if err != nil {
			return
		}
		a, err := netip.ParseAddrPort(net.JoinHostPort(host, port))
		if err != nil || !a.Addr().IsLoopback() {
			t.Errorf("loopback(%q) let %q pass: %v", listen, net.JoinHostPort(host, port), err)
		}
	})
}
