package rawstore

import (
	"bytes"
	"net/http"
)

// lie is what a store keeps in place of what it was given. The zero value keeps
// that.
type lie struct {
	twist   Twist
	pretend bool
}

// Twist makes something else of the pieces of which an object is made: the parts at
// Complete, the body of a PUT. It must not change the pieces themselves; with none
// left nothing is kept of a PUT, and what is told is what came.
type Twist func(pieces [][]byte) [][]byte

// Keep makes the request take effect with other bytes than were sent, after what was
// sent has been verified. What the store says is true of what it has then.
func Keep(f Twist) Step {
	return func(x *exchange) error {
		x.lie = lie{twist: f}
		return nil
	}
}

// Pretend is Keep, but the store says what would be true if it had kept what came.
// Only the size of an object is that of what it has.
func Pretend(f Twist) Step {
	return func(x *exchange) error {
		x.lie = lie{twist: f, pretend: true}
		return nil
	}
}

// Say answers as Reply would, after edit has changed the headers and the body.
func Say(edit func(h http.Header, body string) string) Step {
	return func(x *exchange) error {
		a := *x.apply()
		a.header = a.header.Clone()
		if a.header == nil {
			a.header = http.Header{}
		}
		a.body = []byte(edit(a.header, string(a.body)))
		return a.send(x)
	}
}

// about is what is kept in the place of o: with is that, truly.
func (l lie) about(o, with object) object {
	with.meta = o.meta
	if l.pretend {
		with.etag, with.crc = o.etag, o.crc
	}
	return with
}

// The twists of one object.

// Drop leaves the second piece out, or the only one.
func Drop(pieces [][]byte) [][]byte {
	i := min(1, len(pieces)-1)
	return append(append([][]byte{}, pieces[:i]...), pieces[i+1:]...)
}

// Double has the first piece twice.
func Double(pieces [][]byte) [][]byte { return append([][]byte{pieces[0]}, pieces...) }

// Swap has the first two pieces the other way round, or the halves of the only one.
func Swap(pieces [][]byte) [][]byte {
	if len(pieces) == 1 {
		half := len(pieces[0]) / 2
		return [][]byte{bytes.Join([][]byte{pieces[0][half:], pieces[0][:half]}, nil)}
	}
	return append([][]byte{pieces[1], pieces[0]}, pieces[2:]...)
}

// Truncate takes the last byte off the first piece.
func Truncate(pieces [][]byte) [][]byte {
	return append([][]byte{pieces[0][:len(pieces[0])-1]}, pieces[1:]...)
}

// Flip changes one bit in the middle of the first piece.
func Flip(pieces [][]byte) [][]byte {
	first := bytes.Clone(pieces[0])
	first[len(first)/2] ^= 1
	return append([][]byte{first}, pieces[1:]...)
}
