package faultproxy

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// answer sends the rule's status instead of forwarding the request.
func (x *exchange) answer() {
	r := x.rule
	if !r.Early && r.After == 0 {
		if _, err := io.Copy(io.Discard, x.body); err != nil {
			abort()
		}
		x.wait()
		x.reply()
		return
	}
	if !x.body.pass(r.After) {
		abort()
	}
	x.wait()
	x.w.Header().Set("Connection", "close")
	x.reply()
	x.flush()
	// Errors from here on mean that the connection is closed already.
	if !r.Early {
		_ = x.conn.tcp.CloseWrite()
		_, _ = io.Copy(io.Discard, x.body)
	}
	_ = x.conn.tcp.Close()
	abort()
}

// reply writes the rule's status, headers and body.
func (x *exchange) reply() {
	r, h := x.rule, x.w.Header()
	id := fmt.Sprintf("FAULT%08d", x.proxy.lastReply.Add(1))
	h.Set("X-Amz-Request-Id", id)
	text := r.Body
	if text == "" && (r.Code != "" || r.Message != "") {
		h.Set("Content-Type", "application/xml")
		text = errorXML(r.Code, r.Message, x.req.URL.Path, id)
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	for name, values := range r.Header {
		h[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	if r.Edit != nil {
		r.Edit(h)
	}
	x.w.WriteHeader(r.Status)
	// The server refuses it where the status has no body.
	_, _ = io.WriteString(x.w, text)
}

// errorXML is the error document of S3.
// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
func errorXML(code, message, resource, id string) string {
	doc := struct {
		XMLName   xml.Name `xml:"Error"`
		Code      string
		Message   string
		Resource  string
		RequestId string
	}{Code: code, Message: message, Resource: resource, RequestId: id}
	out, err := xml.Marshal(doc)
	if err != nil {
		panic(err) // strings only: cannot happen
	}
	return xml.Header + string(out)
}

// statusWriter notes the status that is sent.
type statusWriter struct {
	http.ResponseWriter
	rec *record
}

func (w statusWriter) WriteHeader(code int) {
	if code == http.StatusContinue {
		// The upstream's is passed on when the transport, waiting for it,
		// starts to read the body. Here it would be a second one.
		return
	}
	if code >= http.StatusOK {
		w.rec.status(code)
	}
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap gives http.ResponseController the server's own writer.
func (w statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// answer is an upstream's answer that has been taken in: all of its head, the
// first keep bytes of its body. It is an http.ResponseWriter.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
	keep   int64
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(code int) {
	if code >= http.StatusOK {
		a.status = code
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.body.Write(b[:min(int64(len(b)), a.keep-int64(a.body.Len()))])
	return len(b), nil
}

// sendTo writes the answer out.
func (a *answer) sendTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	// An error means that the client is gone.
	_, _ = w.Write(a.body.Bytes())
}
