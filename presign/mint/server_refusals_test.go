package mint

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// Each refusal has its status and a sentence, nothing is created, and nothing is told
// that the caller may not know.
func TestServerRefusals(t *testing.T) {
	l := newServerLab(t, func(o *Options) { o.MaxSize = 1000; o.MaxParts = 20_000 })
	u := l.begin(`{"filename":"a.txt","type":"text/plain","size":100}`)
	hers := at(u, "/1")
	big := `{"filename":"` + strings.Repeat("x", 64<<10) + `"}`
	create := func(body string) []string { return []string{"POST", pathMultipart, body} }
	for name, c := range map[string]struct {
		ask    []string // method, target, body, headers
		status int
	}{
		"no token":             {append(create(`{"filename":"a"}`), "Authorization"), 401},
		"wrong token":          {append(create(`{"filename":"a"}`), as("token-of-nobody")), 401},
		"token of basic":       {append(create(`{"filename":"a"}`), "Authorization: Basic "+aliceToken), 401},
		"empty token":          {append(create(`{"filename":"a"}`), "Authorization: Bearer "), 401},
		"unknown address":      {[]string{"GET", "/", ""}, 404},
		"sts":                  {[]string{"GET", "/s3/sts", ""}, 404},
		"address below a part": {[]string{"GET", at(u, "/1/2"), ""}, 404},
		"address without id":   {[]string{"GET", pathMultipart + "/", ""}, 404},
		"two slashes":          {[]string{"GET", pathMultipart + "//1?key=k", ""}, 404},
		"wrong method":         {[]string{"PUT", pathMultipart, ""}, 405},
		"post to a part":       {[]string{"POST", hers, ""}, 405},
		"bad query":            {[]string{"GET", at(u, "/1") + "&%zz", ""}, 400},

		"another's upload":       {[]string{"GET", hers, "", as(bobToken)}, 404},
		"another's list":         {[]string{"GET", at(u, ""), "", as(bobToken)}, 404},
		"another's batch":        {[]string{"GET", at(u, "/batch", queryPartNumbers, "1"), "", as(bobToken)}, 404},
		"another's abort":        {[]string{"DELETE", at(u, ""), "", as(bobToken)}, 404},
		"another's complete":     {[]string{"POST", at(u, "/complete"), `{"parts":[{"PartNumber":1,"ETag":"e"}]}`, as(bobToken)}, 404},
		"another's object":       {[]string{"GET", pathObject + "?key=" + u.Key + "&uploadId=" + u.UploadID, "", as(bobToken)}, 404},
		"another key":            {[]string{"GET", at(createResponse{Key: "up/other", UploadID: u.UploadID}, "/1"), ""}, 404},
		"the store's own id":     {[]string{"GET", at(createResponse{Key: u.Key, UploadID: "upload-1"}, "/1"), ""}, 404},
		"no key":                 {[]string{"GET", pathMultipart + "/" + u.UploadID + "/1", ""}, 400},
		"object of any key":      {[]string{"GET", pathObject + "?key=" + u.Key, ""}, 403},
		"object outside":         {[]string{"GET", pathObject + "?key=up/x", "", as(bobToken)}, 403},
		"object of a climbing":   {[]string{"GET", pathObject + "?key=team/../up/x", "", as(bobToken)}, 400},
		"part 0":                 {[]string{"GET", at(u, "/0"), ""}, 400},
		"part 10001":             {[]string{"GET", at(u, "/10001"), ""}, 400},
		"part -1":                {[]string{"GET", at(u, "/-1"), ""}, 400},
		"part +1":                {[]string{"GET", at(u, "/+1"), ""}, 400},
		"part 01":                {[]string{"GET", at(u, "/01"), ""}, 400},
		"part 1x":                {[]string{"GET", at(u, "/1x"), ""}, 400},
		"part of 20 digits":      {[]string{"GET", at(u, "/10000000000000000001"), ""}, 400},
		"batch with a 0":         {[]string{"GET", at(u, "/batch", queryPartNumbers, "1,0"), ""}, 400},
		"batch of nothing":       {[]string{"GET", at(u, "/batch"), ""}, 400},
		"batch of too many":      {[]string{"GET", at(u, "/batch", queryPartNumbers, strings.Repeat("1,", 1000)+"1"), ""}, 400},
		"batch with fewer sizes": {[]string{"GET", at(u, "/batch", queryPartNumbers, "1,2", querySizes, "5"), ""}, 400},
		"batch with fewer sums":  {[]string{"GET", at(u, "/batch", queryPartNumbers, "1,2", queryChecksums, "x"), ""}, 400},
		"size of a part":         {[]string{"GET", at(u, "/1", querySize, "101"), ""}, 413},
		"negative part":          {[]string{"GET", at(u, "/1", querySize, "-1"), ""}, 400},
		"size that is none":      {[]string{"GET", at(u, "/1", querySize, "1e3"), ""}, 400},
		"sum without header":     {[]string{"GET", at(u, "/1", queryChecksum, "AAAA"), ""}, 400},
		"header without sum":     {[]string{"GET", at(u, "/1", queryChecksumHeader, "Content-MD5"), ""}, 400},
		"an acl as digest":       {[]string{"GET", at(u, "/1", queryChecksumHeader, "X-Amz-Acl", queryChecksum, "public-read"), ""}, 400},
		"digest with a line":     {[]string{"GET", at(u, "/1", queryChecksumHeader, "Content-MD5", queryChecksum, "a\r\nX-Amz-Acl: x"), ""}, 400},
		"digest too long":        {[]string{"GET", at(u, "/1", queryChecksumHeader, "Content-MD5", queryChecksum, strings.Repeat("a", 129)), ""}, 400},

		"no filename":           {create(`{"type":"text/plain"}`), 400},
		"no object":             {create(`[]`), 400},
		"no JSON":               {create(`{"filename":`), 400},
		"no body":               {create(``), 400},
		"two objects":           {create(`{"filename":"a"}{"filename":"b"}`), 400},
		"filename of a number":  {create(`{"filename":7}`), 400},
		"metadata of a number":  {create(`{"filename":"a","metadata":{"n":7}}`), 400},
		"metadata without name": {create(`{"filename":"a","metadata":{"":"v"}}`), 400},
		"metadata with a line":  {create(`{"filename":"a","metadata":{"n":"v\r\nX-Amz-Acl: x"}}`), 400},
		"metadata with colon":   {create(`{"filename":"a","metadata":{"n: x":"v"}}`), 400},
		"type with a line":      {create(`{"filename":"a","type":"a\nb"}`), 400},
		"a header of no list":   {create(`{"filename":"a","headers":{"X-Amz-Acl":"public-read"}}`), 400},
		"metadata as header":    {create(`{"filename":"a","headers":{"X-Amz-Meta-Chunkup-Token":"t"}}`), 400},
		"a condition":           {create(`{"filename":"a","headers":{"If-None-Match":"*"}}`), 400},
		"size over the limit":   {create(`{"filename":"a","size":1001}`), 413},
		"size over her limit":   {append(create(`{"filename":"a","size":11}`), as(carolToken)), 413},
		"negative size":         {create(`{"filename":"a","size":-1}`), 400},
		"unknown algorithm":     {create(`{"filename":"a","algorithm":"rot13"}`), 400},
		"whole of a hash":       {create(`{"filename":"a","algorithm":"sha256","fullObject":true}`), 400},
		"body too large":        {create(big), 413},
		"idempotency key":       {append(create(`{"filename":"a"}`), HeaderIdempotency+": "+strings.Repeat("k", 256)), 400},
		"key outside":           {append(create(`{"filename":"a","key":"up/a"}`), as(bobToken)), 403},
		"key above":             {append(create(`{"filename":"a","key":"tea"}`), as(bobToken)), 403},
		"key that climbs":       {append(create(`{"filename":"a","key":"team/../up/a"}`), as(bobToken)), 400},
		"key with //":           {append(create(`{"filename":"a","key":"team//a"}`), as(bobToken)), 400},
		"key of the prefix":     {append(create(`{"filename":"a","key":"team/"}`), as(bobToken)), 400},
		"key with a backslash":  {append(create(`{"filename":"a","key":"team/..\\a"}`), as(bobToken)), 400},
		"key with a control":    {append(create(`{"filename":"a","key":"team/a\u0000"}`), as(bobToken)), 400},
		"key too long":          {append(create(`{"filename":"a","key":"team/`+strings.Repeat("k", 1020)+`"}`), as(bobToken)), 400},

		"params without size":     {[]string{"GET", pathParams + "?filename=a", ""}, 501},
		"params without filename": {[]string{"GET", pathParams + "?size=1", ""}, 400},
		"params too large":        {[]string{"GET", pathParams + "?filename=a&size=1001", ""}, 413},
		"params with an acl":      {[]string{"GET", pathParams + "?filename=a&size=1&headers[X-Amz-Acl]=x", ""}, 400},
		"params outside":          {[]string{"GET", pathParams + "?key=up/a&size=1", "", as(bobToken)}, 403},
		"params that climb":       {[]string{"GET", pathParams + "?key=team/../a&size=1", "", as(bobToken)}, 400},
		"params of junk":          {[]string{"GET", pathParams + "?filename=a&size=x", ""}, 400},

		"complete of nothing":  {[]string{"POST", at(u, "/complete"), `{"parts":[]}`}, 400},
		"complete of part 0":   {[]string{"POST", at(u, "/complete"), `{"parts":[{"PartNumber":0,"ETag":"e"}]}`}, 400},
		"complete in disorder": {[]string{"POST", at(u, "/complete"), `{"parts":[{"PartNumber":2,"ETag":"e"},{"PartNumber":1,"ETag":"e"}]}`}, 400},
		"complete twice":       {[]string{"POST", at(u, "/complete"), `{"parts":[{"PartNumber":1,"ETag":"e"},{"PartNumber":1,"ETag":"e"}]}`}, 400},
		"complete without tag": {[]string{"POST", at(u, "/complete"), `{"parts":[{"PartNumber":1,"ETag":"\"\""}]}`}, 400},
		"complete of no part":  {[]string{"POST", at(u, "/complete"), `{"parts":[{"PartNumber":1,"ETag":"e"}]}`}, 400},
		"complete too large":   {[]string{"POST", at(u, "/complete"), `{"x":"` + strings.Repeat("x", 4<<20) + `"}`}, 413},
	} {
		t.Run(name, func(t *testing.T) {
			l.restart() // with room for more requests
			before := l.Count(wire.Create)
			a := l.ask(c.ask[0], c.ask[1], c.ask[2], c.ask[3:]...)
			var e errorResponse
			if err := json.Unmarshal([]byte(a.text), &e); err != nil || a.status != c.status || e.Error == "" || e.Error != e.Message {
				t.Errorf("status %d instead of %d: %s", a.status, c.status, a.text)
			}
			if a.header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
				t.Errorf("header %v", a.header)
			}
			if got := l.Count(wire.Create); got != before || l.Uploads() != 1 {
				t.Errorf("%d uploads were created, %d are there", got-before, l.Uploads())
			}
			if e := l.lastEvent(); e.Status != c.status || e.Error == "" {
				t.Errorf("event %+v", e)
			}
			for _, secret := range []string{"nonce", "token-of", string(testSecret), "upload-1"} {
				if strings.Contains(a.text+l.lastEvent().Error, secret) {
					t.Errorf("%q is told: %s, %+v", secret, a.text, l.lastEvent())
				}
			}
		})
	}
}

// A 401 says how, a 405 says what.
func TestServerRefusalHeaders(t *testing.T) {
	l := newServerLab(t)
	if a := l.ask("GET", pathAbout, "", "Authorization"); a.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("%d %v", a.status, a.header)
	}
	for target, allow := range map[string]string{pathMultipart: "POST", pathMultipart + "/id": "GET, DELETE", pathParams: "GET"} {
		if a := l.ask("PATCH", target, ""); a.status != 405 || a.header.Get("Allow") != allow {
			t.Errorf("%s: %d %v", target, a.status, a.header)
		}
	}
}

// What the store says comes through if it is about what was asked for; what it has
// against the service is the service's.
func TestServerStoreErrors(t *testing.T) {
	for _, c := range []struct {
		store, status int
		code          string
		retryAfter    string
	}{
		{404, 404, "NoSuchUpload", ""}, {400, 400, "InvalidArgument", ""}, {412, 412, "PreconditionFailed", ""}, {409, 409, "OperationAborted", ""},
		{401, 502, "Unauthorized", ""}, {403, 502, "AccessDenied", ""}, {400, 502, "ExpiredToken", ""}, {500, 502, "InternalError", ""},
		{503, 503, "SlowDown", ""}, {503, 503, "SlowDown", "7"}, {500, 503, "InternalError", "7"}, {429, 503, "TooManyRequests", "7"}, {403, 502, "AccessDenied", "7"},
		{301, 502, "PermanentRedirect", ""},
	} {
		l := newServerLab(t)
		u := l.begin(`{"filename":"a"}`)
		l.Script(fault(wire.List, c.store, c.code, c.retryAfter))
		a := l.ask("GET", at(u, ""), "")
		var e errorResponse
		if json.Unmarshal([]byte(a.text), &e) != nil || a.status != c.status || e.Store == nil || e.Store.Status != c.store || e.Store.Code != c.code {
			t.Errorf("%+v: %d %s", c, a.status, a.text)
		}
		if a.header.Get("Retry-After") != c.retryAfter {
			t.Errorf("%+v: %v", c, a.header)
		}
		if e.Store.RequestID != "mem" || strings.Contains(e.Message, "secret") {
			t.Errorf("%+v: %s", c, a.text)
		}
	}
}

// A store that cannot be reached, or does not answer in time.
func TestServerStoreSilent(t *testing.T) {
	l := newServerLab(t)
	u := l.begin(`{"filename":"a"}`)
	l.Script(reset(wire.List))
	a := l.ask("GET", at(u, ""), "")
	if a.status != http.StatusBadGateway || !strings.Contains(a.text, `"store":{"status":502`) || strings.Contains(a.text, "reset") {
		t.Errorf("%d %s", a.status, a.text)
	}
	if e := l.lastEvent(); !strings.Contains(e.Error, "reset") {
		t.Errorf("the event does not say why: %+v", e)
	}
	if f := asFailure(&wire.DeadlineError{}); f.status != http.StatusGatewayTimeout {
		t.Errorf("%+v", f)
	}
}

// endless is a body of any length, which counts what is read of it.
type endless struct{ read int64 }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	e.read += int64(len(b))
	return len(b), nil
}

// A body of 1 GB is not read: not at all if it says so, else not beyond the limit.
func TestServerHugeBody(t *testing.T) {
	l := newServerLab(t)
	u := l.begin(`{"filename":"a"}`)
	for target, limit := range map[string]int64{pathMultipart: maxCreate, at(u, "/complete"): maxComplete} {
		for length, most := range map[int64]int64{1 << 30: 0, -1: limit + 64<<10} {
			body := &endless{}
			r := httptest.NewRequest("POST", target, io.NopCloser(body))
			r.Header.Set("Authorization", "Bearer "+aliceToken)
			r.ContentLength = length
			w := httptest.NewRecorder()
			l.h.ServeHTTP(w, r)
			if w.Code != http.StatusRequestEntityTooLarge || body.read > most {
				t.Errorf("%s of %d: %d, %d bytes were read", target, length, w.Code, body.read)
			}
		}
	}
	r := httptest.NewRequest("POST", pathMultipart, io.MultiReader(strings.NewReader(`{"filename":"a"`), broke{}))
	r.Header.Set("Authorization", "Bearer "+aliceToken)
	w := httptest.NewRecorder()
	if l.h.ServeHTTP(w, r); w.Code != http.StatusBadRequest || l.Uploads() != 1 {
		t.Errorf("a body that broke off: %d", w.Code)
	}
}

type broke struct{}

func (broke) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// unsigning is a provider that fails, with a secret in its words.
type unsigning struct{}

func (unsigning) Presign(context.Context, presign.Part) (presign.Request, error) {
	return presign.Request{}, &url.Error{Op: "Get", URL: "http://sts/?X-Amz-Signature=secret", Err: errors.New("no route")}
}

// Where nothing can be signed, neither the answer nor the event says with what.
func TestServerCannotSign(t *testing.T) {
	l := newServerLab(t)
	u := l.begin(`{"filename":"a"}`)
	l.o.Provider = unsigning{}
	l.restart()
	for _, target := range []string{at(u, "/1"), at(u, "/batch", queryPartNumbers, "1,2"), pathParams + "?filename=a&size=1"} {
		a := l.ask("GET", target, "")
		if a.status != http.StatusBadGateway || strings.Contains(a.text, "secret") || strings.Contains(a.text, `"store"`) {
			t.Errorf("%d %s", a.status, a.text)
		}
		if e := l.lastEvent(); strings.Contains(e.Error, "secret") || !strings.Contains(e.Error, "no route") {
			t.Errorf("%+v", e)
		}
	}
}
