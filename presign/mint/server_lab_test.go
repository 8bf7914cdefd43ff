package mint

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

const (
	aliceToken = "token-of-alice"
	bobToken   = "token-of-bob"
	carolToken = "token-of-carol"
)

var testSecret = []byte("0123456789abcdef0123456789abcdef")

// serverLab is a handler over a store in memory. Alice chooses no keys, Bob those below
// team/, and Carol has a limit of her own.
type serverLab struct {
	*storetest.Mem
	t *testing.T
	h *Handler
	o Options

	mu     sync.Mutex
	events []Event
}

func newServerLab(t *testing.T, change ...func(*Options)) *serverLab {
	t.Helper()
	l := &serverLab{Mem: storetest.NewMem(wire.Limits{}), t: t}
	t.Cleanup(l.Close)
	l.o = Options{Control: l.Mem, Provider: l.Mem, Bucket: "bucket", Prefix: "up/", Secret: testSecret,
		Authenticate: Bearer(map[string]Caller{aliceToken: {Name: "alice"}, bobToken: {Name: "bob", Prefix: "team/"},
			carolToken: {Name: "carol", MaxSize: 10}}),
		OnEvent: func(e Event) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.events = append(l.events, e)
		}}
	for _, f := range change {
		f(&l.o)
	}
	l.restart()
	return l
}

// restart puts another handler of the same options in the place of the one before.
func (l *serverLab) restart() {
	l.t.Helper()
	h, err := NewHandler(l.o)
	if err != nil {
		l.t.Fatal(err)
	}
	l.h = h
}

// lastEvent is that of the request which was answered last.
func (l *serverLab) lastEvent() Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[len(l.events)-1]
}

// answered is what the handler has said.
type serverAnswer struct {
	status int
	header http.Header
	text   string
}

// ask sends a request as Alice, unless headers ("Name: value") say otherwise; one
// without a value is not sent.
func (l *serverLab) ask(method, target, body string, headers ...string) serverAnswer {
	l.t.Helper()
	r := httptest.NewRequestWithContext(l.t.Context(), method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+aliceToken)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Del(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	l.h.ServeHTTP(w, r)
	return serverAnswer{w.Code, w.Result().Header, w.Body.String()}
}

// read takes an answer apart that must be a success.
func (a serverAnswer) read(t *testing.T, v any) {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("status %d: %s", a.status, a.text)
	}
	if err := json.Unmarshal([]byte(a.text), v); err != nil {
		t.Fatalf("%v: %s", err, a.text)
	}
}

// as makes the header of a token.
func as(token string) string { return "Authorization: Bearer " + token }

// begin creates an upload.
func (l *serverLab) begin(body string, headers ...string) createResponse {
	l.t.Helper()
	var u createResponse
	l.ask("POST", pathMultipart, body, headers...).read(l.t, &u)
	return u
}

// at is the target of a request about an upload.
func at(u createResponse, below string, query ...string) string {
	q := url.Values{queryKey: {u.Key}}
	for i := 0; i < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	return pathMultipart + "/" + u.UploadID + below + "?" + q.Encode()
}

// send puts bytes to the store with a request that was handed out, and returns the ETag.
func (l *serverLab) send(r signedRequest, body []byte) string {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), r.Method, r.URL, bytes.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	for name, value := range maps.All(r.Headers) {
		req.Header.Set(name, value)
	}
	transport := &http.Transport{DialContext: l.Dial}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		l.t.Fatalf("the store said %d: %s", answer.StatusCode, text)
	}
	return answer.Header.Get("ETag")
}

// sendPart has a part signed and sends it.
func (l *serverLab) sendPart(u createResponse, number, body string, headers ...string) string {
	l.t.Helper()
	var r signedRequest
	l.ask("GET", at(u, "/"+number), "", headers...).read(l.t, &r)
	return l.send(r, []byte(body))
}

// object is what the store has under a key, "" if nothing.
func (l *serverLab) object(key string) string {
	o, _ := l.Object(key)
	return string(o.Body)
}

// fault is a refusal of the store's, once.
func fault(op wire.Operation, status int, code, retryAfter string) storetest.Fault {
	return storetest.Fault{Op: op, Status: status, Code: code, Message: "secret words", RetryAfter: retryAfter}
}

// reset is a connection to the store that breaks before anything is done.
func reset(op wire.Operation) storetest.Fault { return storetest.Fault{Op: op, Reset: true} }
