package mint

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// What was sealed for a caller and a key opens for them alone, and is fit for a path.
func TestServerSeal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sealer{testSecret, rapid.String().Draw(t, "bucket")}
		caller, key := rapid.String().Draw(t, "caller"), rapid.String().Draw(t, "key")
		v := sealed{ID: rapid.StringMatching(`[ -~]*`).Draw(t, "id"), Begun: rapid.Int64().Draw(t, "begun"), FullObject: rapid.Bool().Draw(t, "full")}
		if rapid.Bool().Draw(t, "sized") {
			size := rapid.Int64().Draw(t, "size")
			v.Size = &size
		}
		text := s.seal(caller, key, v)
		if got, ok := s.open(caller, key, text); len(text) <= maxSeal && (!ok || !reflect.DeepEqual(got, v)) {
			t.Fatalf("%+v is not %+v", got, v)
		}
		if url.PathEscape(text) != text {
			t.Fatalf("%q is not fit for a path", text)
		}
		other := caller + rapid.StringMatching(`.+`).Draw(t, "more")
		for name, ok := range map[string]bool{
			"caller": opens(s, other, key, text),
			"key":    opens(s, caller, key+"x", text),
			"shift":  key != "" && opens(s, caller+key[:1], key[1:], text),
			"bucket": opens(sealer{testSecret, s.bucket + "x"}, caller, key, text),
			"secret": opens(sealer{append([]byte("x"), testSecret...), s.bucket}, caller, key, text),
		} {
			if ok {
				t.Fatalf("it opens for another %s", name)
			}
		}
	})
}

func opens(s sealer, caller, key, text string) bool {
	_, ok := s.open(caller, key, text)
	return ok
}

// Nothing opens but what was sealed, whatever is done to it.
func FuzzSeal(f *testing.F) {
	s := sealer{testSecret, "bucket"}
	good := s.seal("alice", "key", sealed{ID: "upload-1", Begun: 1})
	payload, mac, _ := strings.Cut(good, ".")
	// The last character of 32 bytes has two bits to spare.
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	spare := good[:len(good)-1] + string(digits[strings.IndexByte(digits, good[len(good)-1])|1])
	for _, text := range []string{good, spare, "", ".", "..", payload, "." + mac, payload + ".", good + "=", good + "\n", "\r" + good,
		payload + "\n." + mac, payload + "=." + mac, mac + "." + payload, good + "." + mac, good[:len(good)-1] + "B",
		base64.RawURLEncoding.EncodeToString([]byte("null")) + "." + mac, strings.Repeat("A", 5000)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if opens(s, "alice", "key", text) && text != good {
			t.Errorf("%q opens", text)
		}
		if opens(s, "alice", text, good) && text != "key" || opens(s, text, "key", good) && text != "alice" {
			t.Errorf("it opens for %q", text)
		}
	})
}

// A ticket lets in who it was signed for until it ends.
func TestServerTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller := Caller{Name: "alice", Prefix: "team/", MaxSize: 5}
		text, err := SignTicket(testSecret, Ticket{Caller: caller, NotAfter: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(secret []byte, authorization string) (Caller, error) {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Authorization", authorization)
			return Tickets(secret)(r)
		}
		if got, err := ask(testSecret, "bearer "+text); err != nil || got != caller {
			t.Errorf("%+v %v", got, err)
		}
		for _, wrong := range []string{"", "Bearer", "Bearer x", "Basic " + text, "Bearer " + text + "x", "Bearer x" + text, text} {
			if _, err := ask(testSecret, wrong); err == nil || strings.Contains(err.Error(), text) {
				t.Errorf("%q: %v", wrong, err)
			}
		}
		if _, err := ask([]byte("fedcba9876543210fedcba9876543210"), "Bearer "+text); err == nil {
			t.Error("another secret")
		}
		if _, err := ask(testSecret[:31], "Bearer "+text); err == nil || !strings.Contains(err.Error(), "32 bytes") {
			t.Errorf("a short secret: %v", err)
		}
		time.Sleep(time.Hour)
		if _, err := ask(testSecret, "Bearer "+text); err == nil || !strings.Contains(err.Error(), "ended") {
			t.Errorf("it has ended: %v", err)
		}
		for _, bad := range []Ticket{{}, {Caller: caller}, {NotAfter: time.Now()},
			{Caller: Caller{Name: strings.Repeat("n", maxTicket)}, NotAfter: time.Now()}} {
			if text, err := SignTicket(testSecret, bad); err == nil || text != "" {
				t.Errorf("%+v is signed", bad)
			}
		}
		if _, err := SignTicket(testSecret[:31], Ticket{Caller: caller, NotAfter: time.Now()}); err == nil {
			t.Error("a short secret signs")
		}
	})
}

func FuzzTicket(f *testing.F) {
	good, err := SignTicket(testSecret, Ticket{Caller: Caller{Name: "alice"}, NotAfter: time.Unix(1e9, 0)})
	if err != nil {
		f.Fatal(err)
	}
	payload, mac, _ := strings.Cut(good, ".")
	for _, text := range []string{good, "", ".", payload, payload + "." + payload, good + "\n", payload + "=." + mac, good[:len(good)-1] + "B"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := openTicket(testSecret, text); err == nil && text != good {
			t.Errorf("%q opens", text)
		}
	})
}

// A ticket and an upload id of one secret are not taken for each other.
func TestServerDomains(t *testing.T) {
	ticket, err := SignTicket(testSecret, Ticket{Caller: Caller{Name: "alice"}, NotAfter: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if opens(sealer{testSecret, "bucket"}, "", "", ticket) {
		t.Error("a ticket is an upload id")
	}
	if _, err := openTicket(testSecret, (sealer{testSecret, "bucket"}).seal("", "", sealed{})); err == nil {
		t.Error("an upload id is a ticket")
	}
}

func TestServerBearer(t *testing.T) {
	check := Bearer(map[string]Caller{"a": {Name: "alice"}, "bb": {Name: "bob"}, "": {Name: "nobody"}})
	for authorization, want := range map[string]string{"Bearer a": "alice", "BEARER  bb ": "bob", "Bearer b": "", "Bearer ": "", "": "", "a": "", "Basic a": ""} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header[http.CanonicalHeaderKey("authorization")] = []string{authorization}
		if got, err := check(r); got.Name != want || (err == nil) != (want != "") {
			t.Errorf("%q: %+v %v", authorization, got, err)
		}
	}
}

func TestServerKeys(t *testing.T) {
	for key, good := range map[string]bool{
		"a": true, "a/b.txt": true, "Grüße/日本": true, "...": true, "a/..b": true, strings.Repeat("k", 1024): true, "a b": true,
		"": false, "/a": false, "a/": false, "a//b": false, ".": false, "..": false, "a/./b": false, "a/../b": false, "../a": false, "a/..": false,
		"a\\b": false, "a\x00": false, "a\nb": false, "a\x7f": false, "a\u0085": false, "\xff": false, strings.Repeat("k", 1025): false, "a\uffff": false,
	} {
		if bad := badKey(key); (bad == "") != good {
			t.Errorf("%.50q: %s", key, bad)
		}
	}
	for filename, want := range map[string]string{
		"a.txt": "a.txt", `C:\Users\a\b.txt`: "b.txt", "/etc/passwd": "passwd", "..": "file", ".": "file", "": "file", "a/": "file", "../../x": "x",
		"a\x00b\n": "ab", "\xff\xfe": "file", "日本.txt": "日本.txt", strings.Repeat("ü", 200) + ".jpg": strings.Repeat("ü", 125) + ".jpg",
	} {
		if got := lastElement(filename); got != want {
			t.Errorf("%q: %q instead of %q", filename, got, want)
		}
	}
}

// Whatever a file is called, the key that is made for it is a good one below the prefix;
// whatever key is wished for, only one below the caller's prefix is allowed.
func FuzzKey(f *testing.F) {
	for _, text := range []string{"a.txt", "..", "team/a", "team/../a", "team//a", "\xff/\x00", strings.Repeat("ü", 600), "team/a\\..\\b"} {
		f.Add(text)
	}
	h := &Handler{o: Options{Prefix: "up/"}}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := h.makeKey(Caller{}, text)
		if err != nil || badKey(key) != "" || !strings.HasPrefix(key, "up/") || strings.Count(key, "/") != 2 {
			t.Errorf("%q makes %q, %v", text, key, err)
		}
		if mayChoose(Caller{Prefix: "team/"}, text) == nil {
			if path.Clean(text) != text || !strings.HasPrefix(text, "team/") || !utf8.ValidString(text) {
				t.Errorf("%q may be chosen", text)
			}
		}
	})
}

// A key of one's own making is checked as well.
func TestServerKeyOption(t *testing.T) {
	l := newServerLab(t, func(o *Options) {
		o.Key = func(c Caller, filename string) (string, error) {
			if filename == "bad" {
				return "", http.ErrNoLocation
			}
			return c.Name + "/" + filename, nil
		}
	})
	if u := l.begin(`{"filename":"a"}`); u.Key != "alice/a" {
		t.Errorf("%+v", u)
	}
	for _, name := range []string{"bad", "../x"} {
		a := l.ask("POST", pathMultipart, `{"filename":"`+name+`"}`)
		if a.status != 500 || strings.Contains(a.text, "Location") || l.Uploads() != 1 {
			t.Errorf("%d %s", a.status, a.text)
		}
	}
}

// One who may choose keys need not; one who may not is given another.
func TestServerChosenKeys(t *testing.T) {
	l := newServerLab(t)
	if u := l.begin(`{"key":"team/x"}`, as(bobToken)); u.Key != "team/x" {
		t.Errorf("%+v", u)
	}
	for _, token := range []string{aliceToken, bobToken} {
		if u := l.begin(`{"filename":"d/x.txt"}`, as(token)); !strings.HasPrefix(u.Key, "up/") || !strings.HasSuffix(u.Key, "/x.txt") {
			t.Errorf("%+v", u)
		}
	}
	if u := l.begin(`{"filename":"x","key":"team/../x"}`); !strings.HasPrefix(u.Key, "up/") {
		t.Errorf("%+v", u)
	}
}

// Options that contradict themselves are refused at the start.
func TestServerOptions(t *testing.T) {
	good := newServerLab(t).o
	for name, change := range map[string]func(*Options){
		"Control": func(o *Options) { o.Control = nil }, "Provider": func(o *Options) { o.Provider = nil },
		"Bucket": func(o *Options) { o.Bucket = "" }, "Authenticate": func(o *Options) { o.Authenticate = nil },
		"Secret": func(o *Options) { o.Secret = testSecret[:31] }, "Prefix": func(o *Options) { o.Prefix = "../" },
		"MaxSize": func(o *Options) { o.MaxSize = -1 }, "Rate": func(o *Options) { o.Rate = -1 },
	} {
		o := good
		change(&o)
		if _, err := NewHandler(o); err == nil {
			t.Errorf("%s: it has started", name)
		}
	}
}
