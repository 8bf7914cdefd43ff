package walk

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheckKey(t *testing.T) {
	long := strings.Repeat("k", maxKey)
	for _, key := range []string{"a", "a/b c", "é", "line\nbreak", "tab\t", "cr\r", "\x7f", "\u0085", "\uFFFD", "😀", "back\\slash", long, strings.Repeat("é", maxKey/2)} {
		if err := CheckKey(key); err != nil {
			t.Errorf("%.20q: %v", key, err)
		}
	}
	for key, want := range map[string]string{
		"\xff":                           "it is not UTF-8",
		"a/\xed\xa0\x80":                 "it is not UTF-8", // half of a surrogate pair, which Windows lets into names
		"\x00":                           "U+0000",
		"bell\x07":                       "U+0007",
		"\x1b[31m":                       "U+001B",
		"\uFFFE":                         "U+FFFE",
		"\uFFFF":                         "U+FFFF",
		long + "k":                       "it has 1025 bytes",
		strings.Repeat("é", maxKey/2+1):  "it has 1026 bytes",
		strings.Repeat("k", 10*maxKey+1): "it has 10241 bytes",
	} {
		if err := CheckKey(key); !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %q in it", key, err, want)
		}
	}
}

func TestCheckPrefix(t *testing.T) {
	for n, fits := range map[int]bool{maxKey - 1: true, maxKey: false, maxKey + 1: false} {
		if err := checkPrefix(strings.Repeat("p", n-1) + "/"); (err == nil) != fits || err != nil && !errors.Is(err, ErrKey) {
			t.Errorf("a prefix of %d bytes: got %v", n, err)
		}
	}
}

// A folder whose files cannot have keys is one error, however many they are.
func TestWalkNamesWhatCannotBeAKey(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system has no such names")
	}
	root := plant(t, t.TempDir(), "a", "bell\x07", "new\nline", "sub\x01/x", "sub\x01/y", "z")
	want := []string{"a", "key: bell\x07", "new\nline", "key: sub\x01", "z"}
	if got := seen(t, root, Options{}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	want = []string{"a", "bell\x07", "new\nline", "sub\x01/x", "sub\x01/y", "z"}
	if got := seen(t, root, Options{AnyName: true}); !slices.Equal(got, want) {
		t.Errorf("with any name: got %q, want %q", got, want)
	}
	for _, err := range Walk(t.Context(), root, Options{}) {
		if err != nil && (!utf8.ValidString(err.Error()) || strings.ContainsAny(err.Error(), "\x01\x07") || !strings.HasPrefix(err.Error(), `"`)) {
			t.Errorf("a terminal would choke on %q", err)
		}
	}
}

func TestWalkNamesWhatIsNotUTF8(t *testing.T) {
	root, name := t.TempDir(), "latin-\xe9"
	if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
		t.Skipf("the system wants UTF-8 in names: %v", err)
	}
	plant(t, root, "a", name+"s/x", "z")
	if got, want := seen(t, root, Options{}), []string{"a", "key: " + name, "key: " + name + "s", "z"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, err := range Walk(t.Context(), root, Options{}) {
		if err != nil && !strings.Contains(err.Error(), `latin-\xe9`) {
			t.Errorf("%q does not quote the name", err)
		}
	}
}

func TestWalkNamesKeysThatAreTooLong(t *testing.T) {
	part := strings.Repeat("x", 200)
	folder := strings.Repeat(part+"/", 5) // 1005 bytes
	if runtime.GOOS == "windows" {
		t.Skip("paths this long need a setting there")
	}
	fits, tooLong := folder+strings.Repeat("f", maxKey-len(folder)), folder+strings.Repeat("g", maxKey-len(folder)+1)
	sub := folder + strings.Repeat("s", maxKey-len(folder)-1) // with its slash all of a key
	root := plant(t, t.TempDir(), fits, tooLong, sub+"/1", sub+"/2")
	if got, want := seen(t, root, Options{}), []string{fits, "key: " + tooLong, "key: " + sub}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
