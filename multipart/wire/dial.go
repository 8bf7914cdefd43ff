package wire

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"
	"time"
)

// nextAddress is how long an address may be silent before the next is tried as
// well; the delay of Go's own dialer, after RFC 8305 (250 ms).
const nextAddress = 300 * time.Millisecond

// dialName dials one of the addresses of a name, each connection beginning with
// another. A store answers with several so that its clients spread over them;
// a dialer of the standard library would take the first each time.
func (c *Client) dialName(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{KeepAlive: 30 * time.Second}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return dialer.DialContext(ctx, network, address)
	}
	found, err := c.lookup(ctx, "ip", host)
	if err == nil && len(found) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	addresses := inTurn(found, c.turn.Add(1)-1)
	return race(ctx, addresses, func(ctx context.Context, a netip.Addr) (net.Conn, error) {
		return dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), port))
	})
}

// inTurn orders addresses for the turn-th dial. The resolver puts the better
// family first: the turn goes round within it, and the other family is tried
// second, since it is families that fail as a whole.
func inTurn(found []netip.Addr, turn uint32) []netip.Addr {
	var better, other []netip.Addr
	for _, a := range found {
		a = a.Unmap()
		if len(better) == 0 || a.Is4() == better[0].Is4() {
			better = append(better, a)
		} else {
			other = append(other, a)
		}
	}
	if len(better) == 0 {
		return nil
	}
	better, other = rotate(better, turn), rotate(other, turn)
	return slices.Concat(better[:1], other, better[1:])
}

func rotate(list []netip.Addr, turn uint32) []netip.Addr {
	if len(list) == 0 {
		return nil
	}
	i := turn % uint32(len(list))
	return slices.Concat(list[i:], list[:i])
}

// race dials the addresses one after the other, not waiting longer than
// nextAddress for one before the next is dialed too, and returns the first
// connection, or the error of the first that failed.
func race(ctx context.Context, addresses []netip.Addr, dial func(context.Context, netip.Addr) (net.Conn, error)) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan dialed)
	start := time.NewTimer(0)
	defer start.Stop()
	var failed error
	for running := 0; ; {
		select {
		case <-start.C:
			address := addresses[0]
			addresses = addresses[1:]
			running++
			go func() {
				conn, err := dial(ctx, address)
				results <- dialed{conn, err}
			}()
			if len(addresses) > 0 {
				start.Reset(nextAddress)
			}
		case r := <-results:
			running--
			if r.err == nil {
				go closeLate(results, running)
				return r.conn, nil
			}
			failed = cmp.Or(failed, r.err)
			if len(addresses) > 0 {
				start.Reset(0)
			} else if running == 0 {
				return nil, failed
			}
		}
	}
}

// dialed is what came of one address.
type dialed struct {
	conn net.Conn
	err  error
}

// closeLate closes what the dials that lost the race still bring.
func closeLate(results <-chan dialed, running int) {
	for range running {
		if r := <-results; r.err == nil {
			r.conn.Close()
		}
	}
}
