package s3store_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// One call, one request, and every refusal as our own error.
func TestRefusals(t *testing.T) {
	const page = "<html><head><title>Oops</title></head><body>Bad <b>Gateway</b></body></html>"
	cases := map[string]struct {
		answer        func(http.ResponseWriter, *http.Request)
		status        int
		code, message string
		class         wire.Class
	}{
		"S3":             {answerXML(503, "<Error><Code>SlowDown</Code><Message>Reduce</Message></Error>"), 503, "SlowDown", "Reduce", wire.Ambiguous},
		"details":        {answerXML(400, "<Error><Code>InvalidArgument</Code><Message>Invalid argument.</Message><Details>It is.</Details></Error>"), 400, "InvalidArgument", "Invalid argument: It is.", wire.Fatal},
		"HTML":           {answerXML(502, page), 502, "", "Oops Bad Gateway", wire.Ambiguous},
		"HTML of a 403":  {answerXML(403, page), 403, "", "Oops Bad Gateway", wire.Fatal},
		"HTML of a 413":  {answerXML(413, page), 413, "", "Oops Bad Gateway", wire.Fatal},
		"text":           {answerXML(504, "upstream timed out"), 504, "", "upstream timed out", wire.Ambiguous},
		"JSON":           {answerXML(500, `{"message":"no"}`), 500, "", `{"message":"no"}`, wire.Ambiguous},
		"empty":          {answerXML(500, ""), 500, "", "", wire.Ambiguous},
		"truncated":      {answerXML(500, "<Error><Code>SlowDown</Code><Mess"), 500, "SlowDown", "", wire.Ambiguous},
		"inside success": {answerXML(200, "<Error><Code>InternalError</Code></Error>"), 500, "InternalError", "", wire.Ambiguous},
		"cut inside":     {answerXML(200, "<CompleteMultipart"), 200, "UnknownError", "", wire.Ambiguous},
		"throttled":      {answerXML(429, ""), 429, "", "", wire.Throttle},
		"forbidden":      {answerXML(403, "<Error><Code>AccessDenied</Code></Error>"), 403, "AccessDenied", "", wire.Fatal},
		"moved":          {answerXML(301, "<Error><Code>PermanentRedirect</Code></Error>"), 301, "PermanentRedirect", "", wire.Redirect},
		"exists":         {answerXML(412, "<Error><Code>PreconditionFailed</Code><Message>At least one</Message></Error>"), 412, "PreconditionFailed", "At least one", wire.Fatal},
		"conflict":       {answerXML(409, "<Error><Code>ConditionalRequestConflict</Code></Error>"), 409, "ConditionalRequestConflict", "", wire.Restart},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := record(t, tc.answer)
			_, err := r.store(t, "minio").Complete(t.Context(), upload, multipart.Completion{CreateOnly: true})
			e, ok := errors.AsType[*wire.StoreError](err)
			if !ok || e.Status != tc.status || e.Code != tc.code || tc.message != "" && e.Message != tc.message || e.RequestID != "R1" {
				t.Fatalf("err = %#v", err)
			}
			if c := wire.Classify(wire.Outcome{Op: wire.Complete, Status: e.Status, Code: e.Code, Message: e.Message}); c != tc.class {
				t.Errorf("%v is %v, want %v", e, c, tc.class)
			}
			if len(r.requests) != 1 || r.requests[0].Header.Get("If-None-Match") != "*" {
				t.Errorf("%d requests for one call, condition %q", len(r.requests), r.requests[0].Header.Get("If-None-Match"))
			}
		})
	}
}

// Only who asks for it gets a condition.
func TestNoCondition(t *testing.T) {
	r := record(t, answerXML(200, `<CompleteMultipartUploadResult><ETag>"e-1"</ETag></CompleteMultipartUploadResult>`))
	r.store(t, "minio").Complete(t.Context(), upload, multipart.Completion{})
	if got, ok := r.requests[0].Header["If-None-Match"]; ok {
		t.Errorf("If-None-Match: %q", got)
	}
}

// What a proxy says is seen of every call; HEAD has no body to say it in.
func TestRefusalsOfEveryCall(t *testing.T) {
	r := record(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(403)
		io.WriteString(w, "<html><body>blocked by the firewall</body></html>")
	})
	s := r.store(t, "aws")
	_, create := s.Create(t.Context(), multipart.Intent{Bucket: "b", Key: "k"})
	_, list := s.List(t.Context(), upload)
	_, uploads := s.ListUploads(t.Context(), "b", "")
	_, complete := s.Complete(t.Context(), upload, multipart.Completion{})
	_, head := s.Head(t.Context(), "b", "k")
	_, read := s.ReadRange(t.Context(), "b", "k", "", 0, 1)
	for name, err := range map[string]error{"create": create, "list": list, "uploads": uploads, "complete": complete, "head": head,
		"read": read, "abort": s.Abort(t.Context(), upload)} {
		e, ok := errors.AsType[*wire.StoreError](err)
		if !ok || e.Status != 403 || name != "head" && !strings.Contains(e.Error(), "blocked by the firewall") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
