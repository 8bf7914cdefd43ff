package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"github.com/chunkup/chunkup/presign/mint"
)

func TestParseTokens(t *testing.T) {
	got, err := parseTokens("\ufeff# who\r\n\r\n tok-1 \r\nalice\ttok/2==  prefix=in/a#b/ max-size=1GiB # hers\nalice tok3\nmax-size=5 tok4 #prefix=x\n#", "in/")
	want := []grant{
		{line: 3, token: "tok-1"},
		{line: 4, token: "tok/2==", caller: mint.Caller{Name: "alice", Prefix: "in/a#b/", MaxSize: 1 << 30}},
		{line: 5, token: "tok3", caller: mint.Caller{Name: "alice"}},
		{line: 6, token: "tok4", caller: mint.Caller{MaxSize: 5}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(grant{})); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	for text, says := range map[string]string{
		"ok\nalice s3kret prefix=out/":    "line 2: prefix=",
		"alice s3kret prefix=":            "line 1: prefix=",
		"alice s3kret max-size=s3kret":    "line 1: max-size=",
		"alice s3kret max-size=0":         "line 1: max-size=",
		"alice s3kret s3kret":             "line 1: it is not [NAME] TOKEN",
		"prefix=in/":                      "line 1: it is not [NAME] TOKEN",
		"alice s3kret=x":                  "line 1: the token has characters",
		"s3kret maxsize=1":                "line 1: the token has characters",
		"s3kret:":                         "line 1: the token has characters",
		"al:ice s3kret":                   "line 1: the name has characters",
		strings.Repeat("x", 65) + " s3kr": "line 1: the name has characters",
		"s3kret\n\nalice s3kret":          "line 3: the token is that of line 1",
	} {
		if _, err := parseTokens(text, "in/"); err == nil || !strings.HasPrefix(err.Error(), says) || strings.Contains(err.Error(), "s3kr") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add("alice tok prefix=in/ max-size=1\n# x\ntok2", "in/")
	f.Add("a b c", "")
	f.Fuzz(func(t *testing.T, text, prefix string) {
		grants, err := parseTokens(text, prefix)
		if err != nil && grants != nil {
			t.Fatal("half of it")
		}
		seen := map[string]bool{}
		for _, g := range grants {
			if seen[g.token] || !tokenPattern.MatchString(g.token) || g.caller.MaxSize < 0 || g.caller.Prefix != "" && !strings.HasPrefix(g.caller.Prefix, prefix) {
				t.Fatalf("%+v", g)
			}
			seen[g.token] = true
		}
	})
}

// A token without a name has one that stays the same and does not tell the token.
func TestCallers(t *testing.T) {
	grants, err := parseTokens("one\ntwo\nalice three", "")
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(grants)
	all, other := callers(grants, bytes.Repeat([]byte{1}, 32)), callers(grants, bytes.Repeat([]byte{2}, 32))
	if all["three"].Name != "alice" || all["one"].Name == all["two"].Name || all["one"].Name == other["one"].Name ||
		all["one"] != callers(grants[2:], bytes.Repeat([]byte{1}, 32))["one"] || !callerPattern.MatchString(all["one"].Name) {
		t.Errorf("%v, %v", all, other)
	}
}

func with(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// What the token file becomes counts as soon as it is whole.
func TestGate(t *testing.T) {
	path := file(t, "tokens", "one")
	synctest.Test(t, func(t *testing.T) {
		var warnings []string
		g, err := newGate(path, "", make([]byte, 32), func(err error) { warnings = append(warnings, err.Error()) })
		if err != nil {
			t.Fatal(err)
		}
		lets := func(token string, want bool) {
			t.Helper()
			if _, err := g.authenticate(with(token)); (err == nil) != want {
				t.Errorf("%s: %v, want %v", token, err, want)
			}
		}
		change := func(text string, at time.Time) {
			t.Helper()
			write(t, path, text)
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		lets("one", true)
		change("two", time.Now().Add(-time.Minute))
		lets("one", true) // it was looked at just now
		time.Sleep(lookEvery)
		lets("one", false)
		lets("two", true)

		change("three", time.Now().Add(lookEvery))
		time.Sleep(lookEvery)
		lets("two", true) // it may be half of it
		time.Sleep(settled)
		lets("three", true)

		warnings = nil
		change("not : a token file", time.Now())
		for range 3 {
			time.Sleep(2 * lookEvery)
			lets("three", true)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(2 * lookEvery)
			lets("three", true)
		}
		if len(warnings) != 2 || !strings.Contains(warnings[0], "line 1") || !strings.Contains(warnings[1], "no such file") {
			t.Errorf("warnings %q", warnings)
		}
		change("# nobody", time.Now().Add(-time.Minute))
		time.Sleep(lookEvery)
		lets("three", false)
	})
}

// A file that everybody can read is warned of.
func TestOpenTokenFile(t *testing.T) {
	path := file(t, "tokens", "one")
	for mode, want := range map[os.FileMode]int{0o600: 0, 0o640: 0, 0o644: 1} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		warnings := 0
		if _, err := newGate(path, "", nil, func(error) { warnings++ }); err != nil || warnings != want {
			t.Errorf("%v: %d warnings, %v", mode, warnings, err)
		}
	}
}

func TestTicketsAndConfinement(t *testing.T) {
	secret := strings.Repeat("s", 32)
	f := mintFlags{prefix: "in/", ticketFile: file(t, "secret", secret+"\n"), tokenFile: file(t, "tokens", "tok")}
	tickets, err := f.tickets(func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	e := env{stderr: &bytes.Buffer{}}
	ticket := func(prefix string, end time.Time) string {
		text, err := mint.SignTicket([]byte(secret), mint.Ticket{Caller: mint.Caller{Name: "t", Prefix: prefix}, NotAfter: end})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	hour := time.Now().Add(time.Hour)
	for _, c := range []struct {
		token  string
		choose bool
		prefix string
		ok     bool
	}{
		{"tok", false, "", true},
		{"tok", true, "in/", true},
		{ticket("", hour), false, "", true},
		{ticket("in/t/", hour), true, "in/t/", true},
		{ticket("out/", hour), false, "", false},
		{ticket("in/t/", time.Now()), false, "", false},
		{"wrong", true, "", false},
	} {
		f.chooseKeys = c.choose
		check, err := f.authenticate(e, make([]byte, 32), tickets)
		if err != nil {
			t.Fatal(err)
		}
		caller, err := check(with(c.token))
		if (err == nil) != c.ok || caller.Prefix != c.prefix {
			t.Errorf("%+v: %+v, %v", c, caller, err)
		}
	}
}

// A page whose name points to this machine is not of this machine.
func TestLocal(t *testing.T) {
	for host, want := range map[string]bool{"127.0.0.1:9200": true, "127.0.0.1": true, "localhost:1": true, "[::1]:80": true,
		"evil.example:9200": false, "evil.example": false, "localhost.evil.example:1": false, "": false} {
		r := with("")
		r.Host = host
		if _, err := local(r); (err == nil) != want {
			t.Errorf("%q: %v", host, err)
		}
	}
}

// Credentials that do not say when they end are read again after a while; those that
// do, and those that cannot be had, are left alone.
func TestRereading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, canExpire, failing := 0, false, error(nil)
		cache := aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			reads++
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b", CanExpire: canExpire, Expires: time.Now().Add(time.Hour)}, failing
		}))
		h := rereading(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = cache.Retrieve(r.Context()) }), cache)
		ask := func(want int) {
			t.Helper()
			if h.ServeHTTP(httptest.NewRecorder(), with("")); reads != want {
				t.Errorf("read %d times, want %d", reads, want)
			}
		}
		ask(1)
		time.Sleep(rereadEvery - time.Millisecond)
		ask(1)
		canExpire = true
		time.Sleep(time.Millisecond)
		ask(2)
		time.Sleep(rereadEvery)
		ask(2)
		failing = errors.New("no")
		time.Sleep(time.Hour)
		ask(4) // once for us, once for the request
	})
}
