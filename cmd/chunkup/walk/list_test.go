package walk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func told(entries iter.Seq2[string, error]) []string {
	var lines []string
	for name, err := range entries {
		if err != nil {
			name = "! " + err.Error()
		}
		lines = append(lines, name)
	}
	return lines
}

func TestList(t *testing.T) {
	longest := strings.Repeat("x", maxEntry)
	for name, c := range map[string]struct {
		text string
		null bool
		want []string
	}{
		"nothing":                 {"", false, nil},
		"lines":                   {"a\nb c\n -\n", false, []string{"a", "b c", " -"}},
		"no newline at the end":   {"a\nb", false, []string{"a", "b"}},
		"empty lines":             {"\n\na\n\nb\n\n", false, []string{"a", "b"}},
		"from Windows":            {"\xEF\xBB\xBFa\r\n\r\nb\r\n", false, []string{"a", "b"}},
		"a mark that is a name":   {"a\n\xEF\xBB\xBFb\n", false, []string{"a", "\xEF\xBB\xBFb"}},
		"not UTF-8":               {"\xff\n", false, []string{"\xff"}},
		"NULs":                    {"a\x00b\nc\r\x00\x00d", true, []string{"a", "b\nc\r", "d"}},
		"a mark before NULs":      {"\xEF\xBB\xBFa\x00", true, []string{"\xEF\xBB\xBFa"}},
		"NULs where lines are":    {"a\nb\x00c\nd\n", false, []string{"a", "! line 2: " + ErrNUL.Error(), "d"}},
		"NULs and no --null":      {"a\x00b\x00", false, []string{"! line 1: " + ErrNUL.Error()}},
		"lines where NULs are":    {"a\nb\n", true, []string{"a\nb\n"}},
		"the longest":             {longest + "\na\n" + longest, false, []string{longest, "a", longest}},
		"too long":                {"a\n\n" + longest + "x\nb\n", false, []string{"a", "! line 3: " + ErrLong.Error(), "b"}},
		"far too long":            {strings.Repeat(longest, 3) + "\nb\n", false, []string{"! line 1: " + ErrLong.Error(), "b"}},
		"too long and the last":   {"a\n" + longest + "xx", false, []string{"a", "! line 2: " + ErrLong.Error()}},
		"too long, between NULs":  {longest + "x\x00b", true, []string{"! line 1: " + ErrLong.Error(), "b"}},
		"an error counts, no end": {"\x00\n\x00\na", false, []string{"! line 1: " + ErrNUL.Error(), "! line 2: " + ErrNUL.Error(), "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, told(List(strings.NewReader(c.text), c.null))); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.want, told(List(iotest.HalfReader(iotest.DataErrReader(strings.NewReader(c.text))), c.null))); diff != "" {
				t.Error("in pieces:", diff)
			}
		})
	}
}

func TestListEndsWhenReadingFails(t *testing.T) {
	broken := errors.New("the disk is gone")
	for text, want := range map[string][]string{
		"a\nhalf":                       {"a", "! line 2: the disk is gone"}, // a name cut short may be another file's
		"a\n":                           {"a", "! line 2: the disk is gone"},
		"":                              {"! line 1: the disk is gone"},
		strings.Repeat("x", 2*maxEntry): {"! line 1: the disk is gone"},
	} {
		if diff := cmp.Diff(want, told(List(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), false))); diff != "" {
			t.Errorf("%.10q: %s", text, diff)
		}
	}
	for _, err := range List(iotest.ErrReader(broken), true) {
		if failed, ok := errors.AsType[*ListError](err); !ok || failed.Line != 1 || !errors.Is(err, broken) {
			t.Errorf("got %#v", err)
		}
	}
}

// A name goes up when it is read, not when the list is at its end.
func TestListStreams(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	read := make(chan string)
	go func() {
		for name := range List(r, false) {
			read <- name
		}
		close(read)
	}()
	for i := range 3 {
		name := fmt.Sprint("file ", i)
		if _, err := io.WriteString(w, name+"\n"); err != nil {
			t.Fatal(err)
		}
		if got := <-read; got != name {
			t.Errorf("got %q, want %q", got, name)
		}
	}
	must(t, w.Close())
	if name, more := <-read; more {
		t.Errorf("got %q after the end", name)
	}
}

func TestListEndsWhenItsCallerDoes(t *testing.T) {
	for stop := range 3 {
		n := 0
		for range List(strings.NewReader("a\n\x00\nb"), false) {
			if n++; n > stop {
				break // a sequence that went on would panic
			}
		}
		if n != stop+1 {
			t.Errorf("got %d entries, want %d", n, stop+1)
		}
	}
}

func FuzzList(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), false)
	f.Add([]byte("a\x00\x00b\nc"), true)
	f.Add([]byte("\xEF\xBB\xBF\r\n\x00\n"), false)
	f.Fuzz(func(t *testing.T, text []byte, null bool) {
		if len(text) > maxEntry {
			t.Skip()
		}
		var want []string
		separator, rest := "\n", text
		if null {
			separator = "\x00"
		} else {
			rest = bytes.TrimPrefix(rest, []byte("\uFEFF"))
		}
		for i, entry := range strings.Split(string(rest), separator) {
			if !null {
				entry = strings.TrimSuffix(entry, "\r")
			}
			switch {
			case strings.Contains(entry, "\x00"):
				want = append(want, fmt.Sprintf("! line %d: %v", i+1, ErrNUL))
			case entry != "":
				want = append(want, entry)
			}
		}
		if diff := cmp.Diff(want, told(List(bytes.NewReader(text), null))); diff != "" {
			t.Error(diff)
		}
	})
}
