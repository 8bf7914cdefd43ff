package wire

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// maxAnswer bounds how much of an answer to a part is read, in bytes.
const maxAnswer = 64 << 10

// maxSkew is how far two clocks may be apart before a refusal is blamed on
// them. Stores allow 15 minutes; AWS's SDKs begin to wonder at 4.
const maxSkew = 4 * time.Minute

// StoreError is a refusal: an answer other than success, or a success with an
// error inside. It never holds a credential or a signature: where an answer
// echoes one, REDACTED is in its place. None of its texts is longer than 300
// characters or has more than one line.
type StoreError struct {
	Status    int
	Code      string // the store's code ("SlowDown"); empty if the body was none of S3's
	Message   string // the store's, or what the body began with if it was none of S3's
	RequestID string

	// RetryAfter is the wait that the answer asked for, 0 if none or nonsense.
	RetryAfter time.Duration

	// Date is the store's clock; zero if it did not say.
	Date time.Time

	// Skew is how far the store's clock was ahead of this machine's; 0 if it
	// did not say, or if a cache may have said it.
	Skew time.Duration

	// Region and Endpoint are where the store says that the bucket is;
	// usually empty.
	Region, Endpoint string
}

// Error is one line: the status, what the store said, and what to do about it
// if that is known.
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
	for _, hint := range []string{e.hint(), e.clockHint(), e.whereHint()} {
		if hint != "" {
			fmt.Fprintf(&b, " (%s)", hint)
		}
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request id %s)", e.RequestID)
	}
	return b.String()
}

// hint says what the user can do, where the store's own words do not.
func (e *StoreError) hint() string {
	switch {
	case e.Code == "EntityTooLarge":
		return "it is above the store's limit: set a smaller --part-size"
	case e.Status == http.StatusRequestEntityTooLarge:
		return "a proxy on the way limits the size of a body: set a smaller --part-size"
	case e.Status == http.StatusInsufficientStorage, e.Code == "XMinioStorageFull":
		return "the store is full"
	case e.Code == "SignatureDoesNotMatch":
		return "the secret key is wrong, or something on the way changes headers"
	}
	return ""
}

// clockHint says that a refusal of who asks, or of when, may be the clock's
// fault.
func (e *StoreError) clockHint() string {
	class := Classify(Outcome{Status: e.Status, Code: e.Code, Message: e.Message})
	switch {
	case e.Status != http.StatusForbidden && class != Remint:
	case e.Skew.Abs() > maxSkew:
		const layout = "2006-01-02 15:04:05 MST"
		return fmt.Sprintf("the clock of this machine may be wrong: it says %s, the store's %s",
			e.Date.Add(-e.Skew).UTC().Format(layout), e.Date.UTC().Format(layout))
	case e.Code == "RequestTimeTooSkewed":
		return "is the clock of this machine right?"
	}
	return ""
}

func (e *StoreError) whereHint() string {
	switch {
	case e.Region != "":
		return fmt.Sprintf("the bucket is in region %s: set it with --region", e.Region)
	case e.Endpoint != "":
		return "the bucket is at " + e.Endpoint
	}
	return ""
}

// document is what stores put into the body of a refusal.
type document struct {
	XMLName   xml.Name
	Code      string
	Message   string
	Details   string // GCS, whose message is often only "Invalid argument."
	RequestID string `xml:"RequestId"`
	Region    string
	Endpoint  string
	Allowed   string `xml:"MaxSizeAllowed"`
}

// ParseError reads an answer as a refusal. The body may be anything: XML, HTML
// of a proxy, cut, empty, hostile; of what is none of S3's the message quotes
// the beginning. It returns nil for a 2xx whose body is no error.
func ParseError(status int, header http.Header, body []byte) *StoreError {
	body = bytes.TrimLeft(body, " \t\r\n")
	body = body[:min(len(body), maxRaw)]
	var doc document
	decoder := xml.NewDecoder(bytes.NewReader(body))
	// The codes are ASCII, whatever the rest is.
	decoder.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	err := decoder.Decode(&doc)
	root := doc.XMLName.Local
	isError := root == "Error" || root == "" && bytes.Contains(body, []byte("<Error"))
	if status/100 == 2 && !isError {
		return nil
	}
	var e *StoreError
	if root == "Error" && (err == nil && doc != (document{XMLName: doc.XMLName}) || doc.Code != "") {
		e = NewStoreError(status, header, doc.Code, doc.text())
		e.add(doc)
	} else {
		e = NewStoreError(status, header, "", "")
		e.Message = excerpt(body)
	}
	if status/100 == 2 && e.Code == "" {
		e.Code = "UnknownError" // a success that holds an error is none
	}
	return e
}

// text is all that a person should read of a document.
func (d document) text() string {
	text := strings.TrimSpace(d.Message)
	if details := strings.TrimSpace(d.Details); details != "" && details != text {
		text = strings.TrimSuffix(text, ".") + ": " + details
	}
	if d.Allowed != "" {
		text += " (at most " + d.Allowed + " bytes)"
	}
	return strings.TrimPrefix(text, ": ")
}

// add takes from the body what the headers did not say.
func (e *StoreError) add(d document) {
	if e.RequestID == "" {
		e.RequestID = oneLine(d.RequestID)
	}
	if e.Region == "" {
		e.Region = placeName(d.Region)
	}
	e.Endpoint = placeName(d.Endpoint)
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
		e.Region = placeName(header.Get("X-Amz-Bucket-Region"))
	}
	if m := rightRegion.FindStringSubmatch(e.Message); e.Region == "" && m != nil {
		e.Region = m[1]
	}
	now := time.Now()
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		if header.Get("Age") == "" {
			e.Skew = date.Sub(now).Round(time.Second)
		}
		e.Date, now = date, date
	}
	e.RetryAfter = askedWait(header, now)
	return e
}

// rightRegion is how AWS and MinIO say in a message which region is right.
var rightRegion = regexp.MustCompile(`\bexpecting '([A-Za-z0-9_-]{1,64})'`)

var placePattern = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,255}$`)

// placeName passes the name of a region or a host, and nothing else.
func placeName(s string) string {
	if s = strings.TrimSpace(s); placePattern.MatchString(s) {
		return s
	}
	return ""
}
