package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// brittle is a connection that takes so many bytes and then fails.
type brittle struct {
	net.Conn
	room int
	got  []byte
}

func (b *brittle) Write(p []byte) (int, error) {
	n := min(len(p), b.room)
	b.room -= n
	b.got = append(b.got, p[:n]...)
	if n < len(p) {
		return n, errors.New("broken")
	}
	return n, nil
}

// Whatever is held, written and read from, all of it arrives once and in its order, and
// no more is said to be taken of a body than was.
func TestHeldBytesArriveOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		under := &brittle{room: rapid.OneOf(rapid.Just(1<<30), rapid.IntRange(0, 100_000)).Draw(t, "room")}
		c := &conn{Conn: under}
		var given []byte
		broken := false
		size := rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, 70_000))
		for step := range rapid.IntRange(1, 6).Draw(t, "steps") {
			piece := bytes.Repeat([]byte{byte(step + 1)}, size.Draw(t, "size"))
			n, err := 0, error(nil)
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				c.holdHead(int64(size.Draw(t, "body")))
				n, err = c.Write(piece)
			case 1:
				c.letGo()
				n, err = c.Write(piece)
			default:
				c.letGo()
				var sum int64
				sum, err = c.ReadFrom(io.LimitReader(bytes.NewReader(piece), int64(len(piece))))
				n = int(sum)
			}
			given = append(given, piece[:n]...)
			if err != nil {
				broken = true
				break
			}
			if n != len(piece) {
				t.Fatalf("%d of %d bytes, and no error", n, len(piece))
			}
		}
		if c.letGo(); !broken && c.held > 0 {
			_, err := c.flush(0)
			broken = err != nil
		}
		if broken && len(under.got) < len(given) { // what was held is lost with the connection
			given = given[:len(under.got)]
		}
		if !slices.Equal(under.got, given) {
			t.Fatalf("%d bytes given, %d arrived, or others", len(given), len(under.got))
		}
	})
}

// A head that is held goes before what does not fit behind it.
func TestHeldGoesBeforeWhatIsLong(t *testing.T) {
	under := &brittle{room: 1 << 30}
	c := &conn{Conn: under}
	head, body := bytes.Repeat([]byte("h"), 100), bytes.Repeat([]byte("b"), 70_000)
	c.holdHead(int64(len(body)))
	for _, piece := range [][]byte{head, body} {
		if n, err := c.Write(piece); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := append(head, body...); !slices.Equal(under.got, want) {
		t.Errorf("%d bytes arrived of %d, or in another order", len(under.got), len(want))
	}
}
