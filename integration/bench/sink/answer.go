package sink

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// software is what the sink announces. It is a name under which every client that
// asks uses its usual checksums.
const software = "MinIO"

// answer is what the sink says to a request.
type answer struct {
	status int
	fields string // lines of the head
	body   string
	length int64 // of the object, in the answer to HEAD
}

const namespace = ` xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`

// document is an answer with a body, whose first element gets S3's namespace.
func document(body string) answer {
	return answer{status: http.StatusOK, fields: "Content-Type: application/xml\r\n",
		body: xml.Header + strings.Replace(body, ">", namespace, 1)}
}

func refusal(status int, code string) answer {
	return answer{status: status, fields: "Content-Type: application/xml\r\n",
		body: xml.Header + "<Error><Code>" + code + "</Code><Message>the sink says so</Message></Error>"}
}

func slowDown() answer { return refusal(http.StatusServiceUnavailable, "SlowDown") }

// answer names an object's ETag and checksums.
func (o *object) answer() answer {
	var b strings.Builder
	b.WriteString("ETag: \"" + o.etag + "\"\r\n")
	for _, s := range o.sums {
		b.WriteString("x-amz-checksum-" + s.name + ": " + s.value + "\r\n")
	}
	if o.kind != "" {
		b.WriteString("x-amz-checksum-type: " + o.kind + "\r\n")
	}
	b.Write(o.meta)
	b.WriteString("Last-Modified: " + o.made.UTC().Format(http.TimeFormat) + "\r\n")
	return answer{status: http.StatusOK, fields: b.String()}
}

// sumElements are the checksums in XML.
func (o *object) sumElements() string {
	var b strings.Builder
	for _, s := range o.sums {
		name := "Checksum" + strings.ToUpper(s.name)
		b.WriteString("<" + name + ">" + escape(s.value) + "</" + name + ">")
	}
	if o.kind != "" {
		b.WriteString("<ChecksumType>" + escape(o.kind) + "</ChecksumType>")
	}
	return b.String()
}

// appendTo writes the answer to a request.
func (a answer) appendTo(b []byte, h *head) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(a.status), 10)
	b = append(append(b, ' '), http.StatusText(a.status)...)
	b = append(b, "\r\nServer: "+software+"\r\nX-Amz-Request-Id: 0\r\nDate: "...)
	b = time.Now().UTC().AppendFormat(b, http.TimeFormat)
	b = append(b, crlf...)
	b = append(b, a.fields...)
	if h.last {
		b = append(b, "Connection: close\r\n"...)
	}
	if a.status != http.StatusNoContent {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, max(a.length, int64(len(a.body))), 10)
		b = append(b, crlf...)
	}
	b = append(b, crlf...)
	if h.method != http.MethodHead {
		b = append(b, a.body...)
	}
	return b
}

func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}
