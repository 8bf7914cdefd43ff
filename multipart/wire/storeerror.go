package wire

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// maxAnswer bounds how much of an answer to a part is read, in bytes.
const maxAnswer = 64 << 10

// StoreError is a refusal: an answer other than success, or a success with an
// error inside. It never holds a header, a URL or a signature.
type StoreError struct {
	Status    int
	Code      string // the store's code ("SlowDown"); empty if the body was none of S3's
	Message   string
	RequestID string

	// RetryAfter is the wait that the answer asked for, 0 if none or nonsense.
	RetryAfter time.Duration

	// Date is the store's clock; zero if it did not say.
	Date time.Time

	// Region is where the store says that the bucket is; usually empty.
	Region string
}

func (e *StoreError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "status %d", e.Status)
	if text := http.StatusText(e.Status); e.Code == "" && text != "" {
		fmt.Fprintf(&b, " %s", text)
	}
	if e.Code != "" {
		fmt.Fprintf(&b, " %s", e.Code)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", strings.TrimSuffix(e.Message, "."))
	}
	if e.Region != "" {
		fmt.Fprintf(&b, " (the bucket is in region %s: set it with --region)", e.Region)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request id %s)", e.RequestID)
	}
	return b.String()
}

// ParseError reads an answer as a refusal. The body may be anything: XML, HTML
// of a proxy, cut, empty; it returns nil for a 2xx whose body is no error.
func ParseError(status int, header http.Header, body []byte) *StoreError {
	e := NewStoreError(status, header, "", "")
	var doc struct {
		XMLName   xml.Name
		Code      string `xml:"Code"`
		Message   string `xml:"Message"`
		RequestID string `xml:"RequestId"`
		Region    string `xml:"Region"`
	}
	err := xml.NewDecoder(bytes.NewReader(body)).Decode(&doc)
	isError := doc.XMLName.Local == "Error"
	if status/100 == 2 && !isError {
		return nil
	}
	if isError && (err == nil || doc.Code != "") {
		e.Code, e.Message = oneLine(doc.Code), oneLine(doc.Message)
		if e.RequestID == "" {
			e.RequestID = oneLine(doc.RequestID)
		}
		if e.Region == "" {
			e.Region = oneLine(doc.Region)
		}
	}
	if status/100 == 2 && e.Code == "" {
		e.Code = "UnknownError" // a success that holds an error is none
	}
	return e
}

// NewStoreError makes a refusal of an answer whose body was read elsewhere, and
// takes from the headers what every refusal has.
func NewStoreError(status int, header http.Header, code, message string) *StoreError {
	e := &StoreError{Status: status, Code: oneLine(code), Message: oneLine(message)}
	for _, name := range []string{"X-Amz-Request-Id", "X-Guploader-Uploadid", "Cf-Ray"} {
		if e.RequestID == "" {
			e.RequestID = oneLine(header.Get(name))
		}
	}
	if status/100 == 3 || status/100 == 4 {
		e.Region = oneLine(header.Get("X-Amz-Bucket-Region"))
	}
	now := time.Now()
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		e.Date, now = date, date
	}
	e.RetryAfter = RetryAfter(header.Get("Retry-After"), now)
	return e
}

// oneLine makes a store's text fit for an error message.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300]) + "…"
	}
	return s
}
