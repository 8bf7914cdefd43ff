package mint

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/presign"
)

// Secrets in every place that an answer or a failure may bring them from.
const (
	aToken     = "tok3n-of-the-caller"
	aPassword  = "pa55word"
	aSignature = "5e7b1c0de5e7b1c0de5e7b1c0de5e7b1c0de5e7b1c0de5e7b1c0de5e7b1c0dee"
)

var leaky = []string{aToken, aPassword, base64.StdEncoding.EncodeToString([]byte("me:" + aPassword)), aSignature}

// raw answers each connection's requests with bytes as they are.
func raw(t *testing.T, answer func(request string) string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r := bufio.NewReader(conn)
			req, err := http.ReadRequest(r)
			if err == nil {
				io.Copy(io.Discard, req.Body)
				var head bytes.Buffer
				fmt.Fprintf(&head, "%s %s Authorization: %s X-Key: %s ", req.Method, req.RequestURI, req.Header.Get("Authorization"), req.Header.Get("X-Key"))
				if strings.HasSuffix(req.URL.Path, pathAbout) {
					io.WriteString(conn, httpAnswer("200 OK", fakeAbout))
				} else {
					io.WriteString(conn, answer(head.String()))
				}
			}
			conn.Close()
		}
	}()
	return l.Addr().String()
}

func httpAnswer(status, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, len(body), body)
}

// No error names a token, a password or a signature, whatever the service, a proxy or a
// stranger answers; and each says which service it is of.
func TestClientNoSecrets(t *testing.T) {
	url := "https://store.example.com/k?X-Amz-Signature=" + aSignature
	jsonOf := func(s string) string { return fmt.Sprintf("%q", s) }
	for name, answer := range map[string]func(string) string{
		"echoed as the first line": func(r string) string { return r + "\r\n\r\n" },
		"echoed as the status":     func(r string) string { return "HTTP/1.1 " + r + "\r\n\r\n" },
		"echoed as a header":       func(r string) string { return "HTTP/1.1 200 OK\r\n" + r + "\r\n\r\n" },
		"echoed as the length":     func(r string) string { return "HTTP/1.1 200 OK\r\nContent-Length: " + r + "\r\n\r\n" },
		"echoed as the encoding":   func(r string) string { return "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + r + "\r\n\r\n" },
		"echoed in a page":         func(r string) string { return httpAnswer("502 Bad Gateway", "<html><p>"+r+"</p></html>") },
		"echoed in text":           func(r string) string { return httpAnswer("500 Internal Server Error", r+url) },
		"echoed in JSON":           func(r string) string { return httpAnswer("403 Forbidden", `{"error":`+jsonOf(r+url)+`}`) },
		"echoed where a text is cut": func(r string) string {
			return httpAnswer("400 Bad Request", `{"error":`+jsonOf(strings.Repeat("x ", 120)+"    "+r+r+r)+`}`)
		},
		"echoed by the store": func(r string) string {
			return httpAnswer("502 Bad Gateway", `{"error":"x","store":{"status":403,"code":`+jsonOf(r)+`,"message":`+jsonOf(r+url)+`,"requestId":`+jsonOf(r)+`}}`)
		},
		"echoed as XML": func(r string) string {
			return httpAnswer("400 Bad Request", "<Error><Code>X</Code><Message>"+r+url+"</Message></Error>")
		},
		"echoed as success": func(r string) string { return httpAnswer("200 OK", r+url) },
		"echoed as a number": func(r string) string {
			return httpAnswer("200 OK", `{"expires":`+jsonOf(r)+`,"url":`+jsonOf(url)+`,"uploadId":5}`)
		},
		"a URL of another scheme": func(string) string { return httpAnswer("200 OK", `{"url":"ftp://x?sig=`+aSignature+`"}`) },
		"a URL that is none":      func(string) string { return httpAnswer("200 OK", `{"url":"https://%zz?sig=`+aSignature+`"}`) },
		"a form":                  func(string) string { return httpAnswer("200 OK", `{"method":"POST","url":"`+url+`"}`) },
		"a bad header": func(string) string {
			return httpAnswer("200 OK", `{"url":"`+url+`","headers":{"A B":"`+aSignature+`"}}`)
		},
		"a redirect": func(r string) string {
			return "HTTP/1.1 307 Temporary Redirect\r\nLocation: https://me:" + aPassword + "@other.example.com/?" + aSignature + "\r\nContent-Length: 0\r\n\r\n"
		},
		"nothing":           func(string) string { return "" },
		"half of an answer": func(r string) string { return "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + r },
	} {
		t.Run(name, func(t *testing.T) {
			host := raw(t, answer)
			for _, user := range []string{"", "me:" + aPassword + "@"} {
				o := &ClientOptions{Retries: -1, Header: http.Header{"X-Key": {aToken + "-2"}}}
				if user == "" {
					o.Header.Set("Authorization", "Bearer "+aToken)
				}
				c, err := Dial(t.Context(), "http://"+user+host, o)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				for call, tt := range everyCall {
					err := tt.call(t.Context(), c)
					if err == nil {
						if call != "abort" && call != "complete" {
							t.Errorf("%s: no error", call)
						}
						continue
					}
					text := fmt.Sprintf("%v %+v %s", err, err, err)
					for _, secret := range leaky {
						if strings.Contains(text, secret) || strings.Contains(text, secret[:len(secret)*2/3]) {
							t.Errorf("%s: the error has %s: %v", call, secret, err)
						}
					}
					if strings.Contains(text, "key=") && !strings.HasPrefix(name, "echoed") {
						t.Errorf("%s: the error has the whole question: %v", call, err)
					}
					if service, ok := errors.AsType[*multipart.ServiceError](err); ok && service.Service != "http://"+host {
						t.Errorf("%s: the error is of %s", call, service.Service)
					}
				}
			}
		})
	}
}

// A redirect is not followed: neither the header nor the question goes to another host.
func TestClientRedirect(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == pathAbout {
			io.WriteString(w, fakeAbout)
			return
		}
		http.Redirect(w, r, other.URL+"/path?token="+aToken, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	for _, mine := range []*http.Client{nil, server.Client()} {
		c, err := Dial(t.Context(), server.URL, &ClientOptions{HTTP: mine, Header: http.Header{"Authorization": {"Bearer " + aToken}}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for call, tt := range everyCall {
			err := tt.call(t.Context(), c)
			if err == nil || !strings.Contains(err.Error(), "it redirects to "+other.URL+", which is not followed: give that address: status 307") {
				t.Errorf("%s: %v", call, err)
			}
		}
		if mine != nil && mine.CheckRedirect != nil {
			t.Error("the caller's client was changed")
		}
	}
	if asked != 0 {
		t.Errorf("the other host was asked %d times", asked)
	}
}

// An answer that does not end is not read for ever.
func TestClientHugeAnswer(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == pathAbout {
			io.WriteString(w, fakeAbout)
			return
		}
		if r.URL.Query().Get("key") == "dir/refused" {
			w.WriteHeader(http.StatusBadRequest)
		}
		for page := bytes.Repeat([]byte("[1,"), 10_000); sent.Load() < 1<<30; {
			n, err := w.Write(page)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	defer server.Close()
	c, err := Dial(t.Context(), server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, key := range []string{"dir/key", "dir/refused"} {
		_, err := c.List(t.Context(), multipart.Upload{Key: key, ID: "u"})
		if _, ok := errors.AsType[*multipart.ServiceError](err); !ok || len(err.Error()) > 500 {
			t.Errorf("%.1000v", err)
		}
		if key == "dir/key" && !errors.Is(err, errTooLong) {
			t.Errorf("%.1000v", err)
		}
	}
	server.Close() // the handlers have ended
	if sent.Load() > 64<<20 {
		t.Errorf("%d bytes were sent", sent.Load())
	}
}

// The words for people, as they are.
func TestClientErrorText(t *testing.T) {
	for _, tt := range []struct {
		status       int
		body, header string
		want         string
		denied       bool
	}{
		{401, `{"error":"the token is unknown."}`, "", "service https://mint.example.com: the minting service refused the token (see --mint-header): status 401 Unauthorized: the token is unknown", true},
		{403, `{"error":"the key is outside of your prefix"}`, "", "service https://mint.example.com: the minting service refused the token, or what was asked for with it (see --mint-header): status 403 Forbidden: the key is outside of your prefix", true},
		{413, `{"error":"the object has 9 bytes: at most 5 are allowed"}`, "", "service https://mint.example.com: status 413 Request Entity Too Large: the object has 9 bytes: at most 5 are allowed", false},
		{502, `<html><head><title>502</title></head><body><h1>Bad Gateway</h1></body></html>`, "", "service https://mint.example.com: status 502 Bad Gateway: 502 Bad Gateway", false},
		{503, ``, "", "service https://mint.example.com: status 503 Service Unavailable", false},
		{200, `<html>`, "", "service https://mint.example.com: the answer is not that of a minting service: is the address right?", false},
		{302, ``, "/login", "service https://mint.example.com: it redirects, which is not followed: status 302 Found", false},
		{404, `{"error":"x","store":{"status":404,"code":"NoSuchUpload","message":"The upload does not exist."}}`, "", "status 404 NoSuchUpload: The upload does not exist", false},
	} {
		s := &fakeService{about: fakeAbout, answer: func(fakeCall) (*http.Response, error) { return reply(tt.status, tt.body, "Location", tt.header), nil }}
		_, err := dialFake(t, s, func(o *ClientOptions) { o.Retries = -1 }).List(t.Context(), someUpload)
		if err == nil || err.Error() != tt.want || errors.Is(err, presign.ErrCredentials) != tt.denied {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}
