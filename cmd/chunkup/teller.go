package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// teller prints a command's lines, for people or as JSON.
type teller struct {
	out    *sink
	encode *json.Encoder // nil: for people
}

func newTeller(w io.Writer, asJSON bool) *teller {
	t := &teller{out: &sink{to: w}}
	if asJSON {
		t.encode = json.NewEncoder(t.out)
		t.encode.SetEscapeHTML(false)
	}
	return t
}

// tell prints v as JSON, or else the text.
func (t *teller) tell(v any, format string, args ...any) {
	if t.encode != nil {
		_ = t.encode.Encode(v)
		return
	}
	fmt.Fprintf(t.out, format+"\n", args...)
}

// close returns the first error of writing, which is no success.
func (t *teller) close() error {
	if t.out.err != nil {
		return fmt.Errorf("write standard output: %w", t.out.err)
	}
	return nil
}

// age is how long ago something was, as people want to read it.
func age(since time.Time) string {
	d := time.Since(since)
	switch {
	case since.IsZero():
		return "?"
	case d < 0:
		return "0s"
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	case d >= time.Minute:
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
	}
	return d.Truncate(time.Second).String()
}
