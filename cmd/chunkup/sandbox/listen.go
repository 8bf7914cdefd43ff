package sandbox

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

const (
	defaultListen = "127.0.0.1:0"
	freePort      = "0"
)

// loopback splits listen and refuses what is not a port of the loopback
// interface.
func loopback(listen string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(orElse(listen, defaultListen))
	if err != nil {
		return "", "", &ListenError{Addr: listen}
	}
	if host == "localhost" {
		// The name may stand for two addresses, and a free port of the one
		// need not be free on the other.
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() || ip.Zone() != "" {
		return "", "", &ListenError{Addr: listen}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", "", &ListenError{Addr: listen}
	}
	return host, port, nil
}

// address is host:port, with a port that is free at this moment for port 0.
func address(host, port string) (string, error) {
	addr := net.JoinHostPort(host, port)
	if port != freePort {
		return addr, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("sandbox: find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
