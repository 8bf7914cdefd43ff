package integration

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// lie is something untrue that a store does.
type lie struct {
	name string
	op   rawstore.Op
	part int // 0: of any
	do   []rawstore.Step

	well  bool // told for ever it does no harm: what was sent is there, and that can be proved
	heals bool // told once it is made good
}

// twisted are the lies about what is kept of a part, of the object of one PUT, or at
// Complete.
func twisted(op rawstore.Op, step func(rawstore.Twist) rawstore.Step, suffix string, except ...string) (list []lie) {
	part := 0
	name := " the object" + suffix
	if op == rawstore.PutPart {
		part, name = 2, " a part"+suffix
	}
	for _, c := range []struct {
		name string
		f    rawstore.Twist
	}{
		{"drops", rawstore.Drop}, {"doubles", rawstore.Double}, {"swaps", rawstore.Swap}, {"truncates", rawstore.Truncate}, {"flips a bit of", rawstore.Flip},
	} {
		if !slices.Contains(except, c.name) {
			list = append(list, lie{name: c.name + name, op: op, part: part, do: []rawstore.Step{rawstore.ReadAll(), step(c.f), rawstore.Reply()}})
		}
	}
	return list
}

// kept are those to which the answer is true, so that a part or an object of one PUT
// can be sent again.
func kept(op rawstore.Op, except ...string) []lie {
	list := twisted(op, rawstore.Keep, "", except...)
	for i := range list {
		list[i].heals = op != rawstore.Complete
	}
	return list
}

// denied are those to which the answer is what it would be without.
func denied(op rawstore.Op, except ...string) []lie {
	return twisted(op, rawstore.Pretend, " and denies it", except...)
}

// says is a lie in the answer alone.
func says(name string, op rawstore.Op, part int, edit func(http.Header, string) string) lie {
	return lie{name: name, op: op, part: part, heals: op != rawstore.Complete, do: []rawstore.Step{rawstore.ReadAll(), rawstore.Say(edit)}}
}

var (
	md5InXML = regexp.MustCompile(`[0-9a-f]{32}`)
	crcInXML = regexp.MustCompile(`(<ChecksumCRC64NVME>)[^<]*`)
)

// Another ETag and another checksum than is true, wherever they stand.
func anotherETag(h http.Header, body string) string {
	h.Set("ETag", `"00000000000000000000000000000000"`)
	return md5InXML.ReplaceAllString(body, "00000000000000000000000000000000")
}

func anotherChecksum(h http.Header, body string) string {
	if h.Get("X-Amz-Checksum-Crc64nvme") != "" {
		h.Set("X-Amz-Checksum-Crc64nvme", "AAAAAAAAAAA=")
	}
	return crcInXML.ReplaceAllString(body, "${1}AAAAAAAAAAA=")
}

// noSuccess are the answers 200 to Complete that are none, to a request that took
// effect or did not.
func noSuccess(applied bool) (list []lie) {
	name, apply := ", and has done nothing", []rawstore.Step{rawstore.ReadAll()}
	if applied {
		name, apply = ", and has done it", []rawstore.Step{rawstore.ReadAll(), rawstore.Apply()}
	}
	for _, c := range []struct {
		name string
		say  []rawstore.Step
	}{
		{"says 200 and nothing", []rawstore.Step{rawstore.Answer(http.StatusOK, nil, "")}},
		{"says 200 and <Error>", []rawstore.Step{rawstore.Answer(http.StatusOK, http.Header{"Content-Type": {"application/xml"}},
			`<?xml version="1.0" encoding="UTF-8"?><Error><Code>InternalError</Code><Message>We encountered an internal error. Please try again.</Message></Error>`)}},
		{"says 200 and half an answer", []rawstore.Step{
			rawstore.Send("HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: 400\r\n\r\n<CompleteMultipartUploadResult><Key>key</Key><ETag>&#34;"),
			rawstore.Close()}},
		{"says 200 and half an answer in full", []rawstore.Step{
			rawstore.Answer(http.StatusOK, http.Header{"Content-Type": {"application/xml"}}, `<CompleteMultipartUploadResult><Key>key</Key>`)}},
		{"says 200 and HTML", []rawstore.Step{rawstore.Answer(http.StatusOK, http.Header{"Content-Type": {"text/html"}}, `<html><body>Welcome</body></html>`)}},
	} {
		list = append(list, lie{name: c.name + name, op: rawstore.Complete, well: applied, heals: true, do: append(append([]rawstore.Step{}, apply...), c.say...)})
	}
	return list
}

// lieLab is an uploader to a store that lies.
type lieLab struct {
	profile   string
	threshold int64
	times     int // that it lies; negative: for ever
	src       check.Source

	store *rawstore.Store
}

// upload uploads to a store that tells the lie.
func (l *lieLab) upload(t *testing.T, told lie) (multipart.Result, error) {
	t.Helper()
	l.store = rawstore.Start(t, rawstore.Options{Rules: []rawstore.Rule{{Op: told.op, Part: told.part, Count: l.times, Do: told.do}}})
	w := wire.NewClient(wire.Options{})
	t.Cleanup(w.CloseIdle)
	profile, err := s3store.ByName(l.profile)
	if err != nil {
		t.Fatal(err)
	}
	profile.Traits.Limits.MinPart = 1
	cfg := aws.Config{Credentials: credentials.NewStaticCredentialsProvider("key", "secret", "")}
	client := s3store.NewClient(cfg, profile, l.store.URL(), w)
	u, err := multipart.New(s3store.New(client, profile, w), s3presign.New(client, 0), &multipart.Options{
		PartSize: 64 * kib, Threshold: l.threshold, Backoff: multipart.Backoff{Base: time.Millisecond, Cap: 5 * time.Millisecond},
		Endpoint: multipart.NewEndpoint(multipart.EndpointOptions{Client: w}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return u.Upload(t.Context(), multipart.Object{Bucket: "bucket", Key: "key"}, source{l.src})
}

// right reports that the store holds the source.
func (l *lieLab) right() bool {
	body := l.store.Object("key")
	want, err := io.ReadAll(io.NewSectionReader(l.src, 0, l.src.Size()))
	return err == nil && body != nil && bytes.Equal(body, want)
}
