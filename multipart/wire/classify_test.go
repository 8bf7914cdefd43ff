package wire

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestClassifyStatus(t *testing.T) {
	for class, statuses := range map[Class][]int{
		Done:     {200, 204},
		Retry:    {408, 417, 425, 499, 500, 502, 504, 520, 522, 524, 530},
		Throttle: {429, 503},
		Redirect: {301, 302, 303, 307, 308},
		Fatal:    {400, 401, 402, 403, 404, 405, 409, 411, 412, 413, 414, 416, 501, 505, 507, 600},
	} {
		for _, s := range statuses {
			if got := Classify(Outcome{Op: PutPart, Status: s}); got != class {
				t.Errorf("%d: %v, want %v", s, got, class)
			}
		}
	}
}

func TestClassify(t *testing.T) {
	reset := &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.ECONNRESET)}
	cases := map[string]struct {
		outcome Outcome
		want    Class
	}{
		"nothing": {Outcome{}, Unknown},

		"400 RequestTimeout": {Outcome{Op: PutPart, Status: 400, Code: "RequestTimeout"}, Retry},
		"400 InternalError":  {Outcome{Op: PutPart, Status: 400, Code: "InternalError"}, Retry},
		"400 SlowDown":       {Outcome{Op: PutPart, Status: 400, Code: "SlowDown"}, Throttle},
		"400 IncompleteBody": {Outcome{Op: PutPart, Status: 400, Code: "IncompleteBody"}, Retry},
		"400 other":          {Outcome{Op: PutPart, Status: 400, Code: "InvalidArgument"}, Fatal},
		"503 of MinIO":       {Outcome{Op: PutPart, Status: 503, Code: "SlowDownWrite"}, Throttle},
		"409 aborted":        {Outcome{Op: PutPart, Status: 409, Code: "OperationAborted"}, Retry},

		"expired, AWS and MinIO": {Outcome{Op: PutPart, Status: 403, Code: "AccessDenied", Message: "Request has expired"}, Remint},
		"expired, Ceph":          {Outcome{Op: PutPart, Status: 403, Code: "AccessDenied", Message: "The pre-signed URL has expired"}, Remint},
		"expired, GCS":           {Outcome{Op: PutPart, Status: 400, Code: "ExpiredToken", Message: "Invalid argument."}, Remint},
		"expired, R2 by its doc": {Outcome{Op: PutPart, Status: 400, Code: "ExpiredRequest"}, Remint},
		"expired, R2 as seen":    {Outcome{Op: PutPart, Status: 403, Code: "ExpiredRequest"}, Remint},
		"expired, by the clock":  {Outcome{Op: PutPart, Status: 403, Expired: true}, Remint},
		"the clock alone is not": {Outcome{Op: PutPart, Status: 404, Expired: true}, Fatal},
		"forbidden":              {Outcome{Op: PutPart, Status: 403, Code: "AccessDenied", Message: "Access Denied"}, Fatal},
		"wrong signature":        {Outcome{Op: PutPart, Status: 403, Code: "SignatureDoesNotMatch"}, Fatal},

		"the clock does not hide a code": {Outcome{Op: PutPart, Status: 400, Code: "BadDigest", Expired: true}, Reread},
		"400 by the clock":               {Outcome{Op: PutPart, Status: 400, Expired: true}, Remint},
		"401 by the clock":               {Outcome{Op: PutPart, Status: 401, Expired: true}, Remint},
		"STS token":                      {Outcome{Op: Create, Status: 400, Code: "TokenRefreshRequired"}, Remint},
		"client disconnected":            {Outcome{Op: PutPart, Status: 400, Code: "ClientDisconnect"}, Retry},
		"crc of GCS":                     {Outcome{Op: PutPart, Status: 400, Code: "CrcMismatch"}, Reread},
		"conflict, put":                  {Outcome{Op: PutObject, Status: 409, Code: "ConditionalRequestConflict"}, Retry},
		"conflict, complete":             {Outcome{Op: Complete, Status: 409, Code: "ConditionalRequestConflict"}, Restart},
		"put again, condition":           {Outcome{Op: PutObject, Status: 412, Ambiguous: true}, Ambiguous},
		"list, no upload":                {Outcome{Op: List, Status: 404, Code: "NoSuchUpload"}, Restart},
		"wrong host name":                {Outcome{Op: PutPart, Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "h"}}, Fatal},
		"http, not https":                {Outcome{Op: PutPart, Err: tls.RecordHeaderError{Msg: "first record"}}, Fatal},

		"bad digest":        {Outcome{Op: PutPart, Status: 400, Code: "BadDigest"}, Reread},
		"part without ETag": {Outcome{Op: PutPart, Status: 200, Bare: true}, Retry},
		"error inside 200":  {Outcome{Op: PutPart, Status: 200, Code: "Whatever"}, Retry},
		"other region":      {Outcome{Op: Create, Status: 400, Code: "AuthorizationHeaderMalformed"}, Redirect},
		"part, no upload":   {Outcome{Op: PutPart, Status: 404, Code: "NoSuchUpload"}, Restart},
		"no bucket":         {Outcome{Op: Create, Status: 404, Code: "NoSuchBucket"}, Fatal},

		"complete, 500":                {Outcome{Op: Complete, Status: 500}, Ambiguous},
		"complete, 503":                {Outcome{Op: Complete, Status: 503, Code: "SlowDown"}, Ambiguous},
		"complete, throttled":          {Outcome{Op: Complete, Status: 429}, Throttle},
		"complete, error inside 200":   {Outcome{Op: Complete, Status: 200, Code: "InternalError"}, Ambiguous},
		"complete, 200 without ETag":   {Outcome{Op: Complete, Status: 200, Bare: true}, Ambiguous},
		"complete, no answer":          {Outcome{Op: Complete, Err: io.EOF}, Ambiguous},
		"complete, no upload":          {Outcome{Op: Complete, Status: 404, Code: "NoSuchUpload"}, Restart},
		"complete again, no upload":    {Outcome{Op: Complete, Status: 404, Code: "NoSuchUpload", Ambiguous: true}, Ambiguous},
		"complete again, precondition": {Outcome{Op: Complete, Status: 412, Ambiguous: true}, Ambiguous},
		"complete, precondition":       {Outcome{Op: Complete, Status: 412}, Fatal},
		"complete, invalid part":       {Outcome{Op: Complete, Status: 400, Code: "InvalidPart"}, Fatal},

		"reset":          {Outcome{Op: PutPart, Err: reset}, Retry},
		"deadline":       {Outcome{Op: PutPart, Err: &DeadlineError{Phase: PhaseStall}}, Retry},
		"unknown CA":     {Outcome{Op: PutPart, Err: x509.UnknownAuthorityError{}}, Fatal},
		"no such host":   {Outcome{Op: PutPart, Err: &net.DNSError{IsNotFound: true}}, Fatal},
		"host was there": {Outcome{Op: PutPart, Err: &net.DNSError{IsNotFound: true}, Contacted: true}, Retry},
		"DNS is down":    {Outcome{Op: PutPart, Err: &net.DNSError{IsTemporary: true}}, Retry},
	}
	for name, tc := range cases {
		if got := Classify(tc.outcome); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 7, 26, 10, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"30":                            30 * time.Second,
		" 30 ":                          30 * time.Second,
		"Sun, 26 Jul 2026 10:00:45 GMT": 45 * time.Second,
		"Sun, 26 Jul 2026 09:59:00 GMT": 0,
		"soon":                          0,
		"":                              0,
		"-5":                            0,
		"0":                             0,
		"1.5":                           0,
		"21600":                         6 * time.Hour,
		"99999999999999":                292*365*24*time.Hour + 0,
	} {
		got := RetryAfter(value, now)
		if value == "99999999999999" {
			if got < want/2 {
				t.Errorf("%q: %v, want something very long", value, got)
			}
			continue
		}
		if got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("30")
	f.Add("Sun, 26 Jul 2026 10:00:45 GMT")
	f.Add("-1")
	now := time.Date(2026, 7, 26, 10, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string) {
		if d := RetryAfter(value, now); d < 0 {
			t.Errorf("%q: %v", value, d)
		}
	})
}

func TestParseError(t *testing.T) {
	cases := map[string]struct {
		status  int
		header  http.Header
		body    string
		message string
	}{
		"S3": {403, http.Header{"X-Amz-Request-Id": {"R1"}},
			`<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>`,
			"status 403 AccessDenied: Access Denied (request id R1)"},
		"id in the body": {500, nil, `<Error><Code>InternalError</Code><RequestId>R2</RequestId></Error>`,
			"status 500 InternalError (request id R2)"},
		"HTML":           {502, nil, "<html><body><h1>502 Bad Gateway</h1></body></html>", "status 502 Bad Gateway"},
		"empty":          {413, nil, "", "status 413 Request Entity Too Large"},
		"unknown status": {599, nil, "", "status 599"},
		"truncated":      {503, nil, "<Error><Code>SlowDown</Code><Mess", "status 503 SlowDown"},
		"many lines": {400, nil, "<Error><Code>X</Code><Message>a\n\t b\n</Message></Error>",
			"status 400 X: a b"},
		"error inside 200": {200, nil, "<Error><Code>InternalError</Code></Error>", "status 200 InternalError"},
		"region": {301, http.Header{"X-Amz-Bucket-Region": {"eu-west-1"}}, "",
			"status 301 Moved Permanently (the bucket is in region eu-west-1: set it with --region)"},
	}
	for name, tc := range cases {
		e := ParseError(tc.status, tc.header, []byte(tc.body))
		if e == nil || e.Error() != tc.message {
			t.Errorf("%s: %v, want %q", name, e, tc.message)
		}
	}
	for _, body := range []string{"", "  ", "<CompleteMultipartUploadResult/>", "<html>"} {
		if e := ParseError(200, nil, []byte(body)); e != nil {
			t.Errorf("200 %q: %v, want no error", body, e)
		}
	}
}

func TestStoreErrorKeepsNoSecret(t *testing.T) {
	body := `<Error><Code>SignatureDoesNotMatch</Code><Message>m</Message><AWSAccessKeyId>AKIASECRET</AWSAccessKeyId>` +
		`<SignatureProvided>deadbeef</SignatureProvided></Error>`
	msg := ParseError(403, http.Header{"Authorization": {"AKIASECRET"}}, []byte(body)).Error()
	if strings.Contains(msg, "AKIA") || strings.Contains(msg, "deadbeef") {
		t.Error(msg)
	}
}

func FuzzParseError(f *testing.F) {
	f.Add(403, []byte("<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"))
	f.Add(200, []byte("<Error>"))
	f.Add(502, []byte("<html>"))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := ParseError(status, nil, body)
		if e == nil {
			if status/100 != 2 {
				t.Errorf("status %d is no error", status)
			}
			return
		}
		if msg := e.Error(); strings.ContainsAny(msg, "\n\r") && !strings.ContainsAny(e.Code, "\n\r") || len(msg) > 4000+len(e.Code) {
			t.Errorf("not one sentence: %q", msg)
		}
		o := Outcome{Op: PutPart, Status: e.Status, Code: e.Code, Message: e.Message}
		if c := Classify(o); c == Done {
			t.Errorf("a refusal is done: %+v", o)
		}
	})
}

func TestDeadlineError(t *testing.T) {
	for phase, want := range map[Phase]string{
		PhaseConnect: "no connection within 1s",
		PhaseSend:    "too slow: 3 of 9 bytes sent within 1s",
		PhaseStall:   "stalled: no byte accepted for 1s (3 of 9 bytes sent)",
		PhaseAnswer:  "no answer within 1s of the last byte",
		PhaseRead:    "answer not complete within 1s of its status line",
	} {
		e := &DeadlineError{Phase: phase, Limit: time.Second, Sent: 3, Size: 9}
		if e.Error() != want || !e.Timeout() || e.Slow() != (phase == PhaseSend) {
			t.Errorf("%v: %q, slow %v", phase, e, e.Slow())
		}
	}
}
