package wire

import (
	"bytes"
	"io"
	"testing"
)

// The transport may ask for more of the body when the attempt is over: it gets
// nothing, and the source is left alone.
func TestBodyEnds(t *testing.T) {
	w, _ := newWatch(Limits{})
	source := bytes.NewReader(make([]byte, 10))
	b := &body{source: source, left: 10, watch: w}
	if n, err := b.Read(make([]byte, 4)); n != 4 || err != nil {
		t.Fatalf("%d bytes, err = %v", n, err)
	}
	if err := b.end(); err != nil {
		t.Error(err)
	}
	if n, err := b.Read(make([]byte, 4)); n != 0 || err == nil || err == io.EOF || source.Len() != 6 {
		t.Errorf("%d bytes after the end, %d of 6 left in the source, err = %v", n, source.Len(), err)
	}
}
