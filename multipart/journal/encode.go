package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/chunkup/chunkup/chunker"
)

// maxSize bounds a journal, in bytes. A record of 10,000 parts, more than which
// no known store takes, has about 2 MB.
const maxSize = 64 << 20

// envelope is the file: a record and what is needed to trust it. The checksum is
// of the record's compact JSON, so that it is about the content and not about
// white space. It is what finds a flipped bit that leaves valid JSON behind.
type envelope struct {
	Version int             `json:"version"`
	Sum     string          `json:"sum"`
	Record  json.RawMessage `json:"record"`
}

// plain is a Record as encoding/json would write it.
type plain Record

// body is a Record as it is written: what need not be UTF-8 is spelled in its own way.
// Its fields hide the embedded ones of the same name.
type body struct {
	*plain
	Source   bodySource        `json:"source"`
	Header   map[string][]text `json:"header,omitempty"`
	Metadata map[string]text   `json:"metadata,omitempty"`
	Command  []text            `json:"command,omitempty"`
}

type bodySource struct {
	Path     text             `json:"path,omitempty"`
	Identity chunker.Identity `json:"identity,omitzero"`
}

// text is a string of any bytes, as the names of files, arguments and the values
// of headers are. JSON has none but UTF-8, and encoding/json silently puts U+FFFD
// for the rest, which would be the name of another file.
type text string

type base64Text struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON writes a string, or an object if the text is not UTF-8.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(base64Text{[]byte(t)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *text) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return json.Unmarshal(data, (*string)(t))
	}
	var b base64Text
	err := json.Unmarshal(data, &b)
	*t = text(b.Base64)
	return err
}

// bounded refuses what goes beyond a limit.
type bounded struct {
	w           io.Writer
	limit, left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, invalid("record", "has more than %d bytes", b.limit)
	}
	return b.w.Write(p)
}

// seal writes the file of a record, valid or not, part by part: what it takes of memory
// does not grow with their number. The checksum comes last, because it is known then.
// The error is an [*InvalidError] if the record has more than limit bytes or nothing
// that JSON can hold, or else w's.
func seal(w io.Writer, r Record, limit int64) error {
	head, err := headOf(r)
	if err != nil {
		return &InvalidError{Field: "record", Reason: "cannot be written as JSON", Err: err}
	}
	out, sum := bufio.NewWriter(&bounded{w, limit, limit}), chunker.CRC32C.New()
	fmt.Fprintf(out, `{"version":%d,"record":`, r.Version)
	record := bufio.NewWriter(io.MultiWriter(out, sum)) // out keeps its first error until it is flushed
	record.Write(bytes.TrimSuffix(head, []byte("}")))
	if err := writeParts(record, r.Parts); err != nil {
		return &InvalidError{Field: "parts", Reason: "cannot be written as JSON", Err: err}
	}
	record.WriteByte('}')
	_ = record.Flush()
	digest, err := chunker.NewDigest(chunker.CRC32C, sum.Sum(nil))
	fmt.Fprintf(out, `,"sum":%q}`, digest)
	return cmp.Or(err, out.Flush())
}

// headOf returns the JSON of a record without its parts.
func headOf(r Record) ([]byte, error) {
	r.Parts = nil
	b := body{
		plain: (*plain)(&r), Source: bodySource{text(r.Source.Path), r.Source.Identity},
		Header: map[string][]text{}, Metadata: map[string]text{}, Command: convert[text](r.Command),
	}
	for name, values := range r.Header {
		b.Header[name] = convert[text](values)
	}
	for name, value := range r.Metadata {
		b.Metadata[name] = text(value)
	}
	return json.Marshal(b)
}

// writeParts writes the parts as one more member of an object that has some.
func writeParts(w *bufio.Writer, parts []Part) error {
	if len(parts) == 0 {
		return nil
	}
	var one bytes.Buffer
	encoder := json.NewEncoder(&one)
	before := `,"parts":[`
	for i := range parts {
		one.Reset()
		if err := encoder.Encode(&parts[i]); err != nil {
			return err
		}
		w.WriteString(before)
		w.Write(bytes.TrimSuffix(one.Bytes(), []byte("\n"))) // the checksum is of compact JSON
		before = ","
	}
	w.WriteByte(']')
	return nil
}

// decode returns the record in a file. It trusts nothing: the error is
// [ErrNewer] or an [*InvalidError].
func decode(data []byte) (Record, error) {
	// The version first: the rest may look different in a newer one.
	var version struct{ Version int }
	if err := json.Unmarshal(data, &version); err != nil {
		return Record{}, &InvalidError{Field: "file", Reason: "is not the JSON of a journal", Err: err}
	}
	if version.Version > Version {
		return Record{}, fmt.Errorf("version %d: %w", version.Version, ErrNewer)
	}
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return Record{}, &InvalidError{Field: "file", Reason: "is not the JSON of a journal", Err: err}
	}
	if e.Sum != checksum(e.Record) {
		return Record{}, &InvalidError{Field: "checksum", Reason: "is not that of the record, which was damaged or edited"}
	}
	return open(e.Record, e.Version)
}

// open returns the record in its JSON.
func open(data []byte, version int) (Record, error) {
	var r Record
	b := body{plain: (*plain)(&r)}
	if err := json.Unmarshal(data, &b); err != nil {
		return Record{}, &InvalidError{Field: "record", Reason: "is not the JSON of one", Err: err}
	}
	r.Version = version
	r.Source = Source{Path: string(b.Source.Path), Identity: b.Source.Identity}
	r.Command = convert[string](b.Command)
	r.Header = make(http.Header, len(b.Header))
	for name, values := range b.Header {
		r.Header[name] = convert[string](values)
	}
	r.Metadata = make(map[string]string, len(b.Metadata))
	for name, value := range b.Metadata {
		r.Metadata[name] = string(value)
	}
	if err := r.normalise(); err != nil {
		return Record{}, err
	}
	return r, nil
}

// convert returns the same texts as another type, nil if there are none.
func convert[to, from ~string](in []from) (out []to) {
	for _, s := range in {
		out = append(out, to(s))
	}
	return out
}

// checksum returns the CRC32C of JSON, white space apart.
func checksum(record []byte) string {
	var compact bytes.Buffer
	if json.Compact(&compact, record) != nil {
		return "" // record is missing
	}
	sum, err := chunker.Sum(&compact, chunker.CRC32C)
	if err != nil {
		return ""
	}
	return sum.String()
}
