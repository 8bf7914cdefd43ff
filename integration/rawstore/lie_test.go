package rawstore_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/minio/crc64nvme"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
)

func crcOf(b []byte) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, crc64nvme.Checksum(b)))
}

// ask sends one request and returns the answer, its body read.
func ask(t *testing.T, s *rawstore.Store, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
	must(t, err)
	req.Close = true
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp, string(b)
}

const crcHeader = "X-Amz-Checksum-Crc64nvme"

// The check value of the algorithm's definition, in S3's spelling.
func TestCRCIsTheRightOne(t *testing.T) {
	s := start(t, rawstore.Options{})
	resp, _ := ask(t, s, http.MethodPut, "/bucket/key", "123456789", crcHeader, "rosUhgp5mIg=")
	if resp.StatusCode != http.StatusOK || resp.Header.Get(crcHeader) != "rosUhgp5mIg=" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if string(s.Object("key")) != "123456789" || s.Object("other") != nil {
		t.Errorf("kept %q", s.Object("key"))
	}
}

// What does not fit its checksum is refused, be it in a header or in the URL.
func TestBadDigest(t *testing.T) {
	s := start(t, rawstore.Options{})
	sum := md5.Sum([]byte("other"))
	for name, resp := range map[string]func() (*http.Response, string){
		"MD5": func() (*http.Response, string) {
			return ask(t, s, "PUT", "/b/k", "body", "Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
		},
		"header": func() (*http.Response, string) {
			return ask(t, s, "PUT", "/b/k", "body", crcHeader, crcOf([]byte("other")))
		},
		"URL": func() (*http.Response, string) {
			return ask(t, s, "PUT", "/b/k?x-amz-checksum-crc64nvme="+strings.NewReplacer("+", "%2B", "=", "%3D").Replace(crcOf([]byte("other"))), "body")
		},
	} {
		if r, body := resp(); r.StatusCode != http.StatusBadRequest || !strings.Contains(body, "BadDigest") {
			t.Errorf("%s: %d %s", name, r.StatusCode, body)
		}
	}
	if s.Object("k") != nil {
		t.Error("it was kept")
	}
}

// parted is an upload of two parts, each with its checksum.
type parted struct {
	client *s3.Client
	id     *string
	whole  []byte
	parts  []types.CompletedPart
	sums   []string // that the store said
}

func newParted(t *testing.T, s *rawstore.Store) *parted {
	t.Helper()
	p := &parted{client: s.Client(), whole: make([]byte, 1000)}
	check.Pattern(1000).ReadAt(p.whole, 0)
	created, err := p.client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: &key,
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme, ChecksumType: types.ChecksumTypeFullObject})
	must(t, err)
	p.id = created.UploadId
	for n, body := range [][]byte{p.whole[:600], p.whole[600:]} {
		number, crc := int32(n)+1, crcOf(body)
		out, err := p.client.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: &bucket, Key: &key, UploadId: p.id,
			PartNumber: &number, Body: bytes.NewReader(body), ChecksumCRC64NVME: &crc})
		must(t, err)
		p.parts = append(p.parts, types.CompletedPart{PartNumber: &number, ETag: out.ETag, ChecksumCRC64NVME: &crc})
		if out.ChecksumCRC64NVME != nil {
			p.sums = append(p.sums, *out.ChecksumCRC64NVME)
		}
	}
	return p
}

func (p *parted) complete(t *testing.T, crc string, size int64) (*s3.CompleteMultipartUploadOutput, error) {
	return p.client.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{Bucket: &bucket, Key: &key, UploadId: p.id,
		ChecksumCRC64NVME: &crc, MpuObjectSize: &size, MultipartUpload: &types.CompletedMultipartUpload{Parts: p.parts}})
}

// Checksums are verified and named at every step.
func TestFullObjectChecksum(t *testing.T) {
	s := start(t, rawstore.Options{})
	p := newParted(t, s)
	listed, err := p.client.ListParts(t.Context(), &s3.ListPartsInput{Bucket: &bucket, Key: &key, UploadId: p.id})
	must(t, err)
	for i, want := range []string{crcOf(p.whole[:600]), crcOf(p.whole[600:])} {
		if p.sums[i] != want || *listed.Parts[i].ChecksumCRC64NVME != want {
			t.Errorf("part %d: %s and %s, want %s", i+1, p.sums[i], *listed.Parts[i].ChecksumCRC64NVME, want)
		}
	}
	right := p.parts[0].ChecksumCRC64NVME
	p.parts[0].ChecksumCRC64NVME = p.parts[1].ChecksumCRC64NVME
	if _, err := p.complete(t, crcOf(p.whole), 1000); err == nil || !strings.Contains(err.Error(), "InvalidPart") {
		t.Errorf("a part's checksum: %v", err)
	}
	p.parts[0].ChecksumCRC64NVME = right
	if _, err := p.complete(t, crcOf(nil), 1000); err == nil || !strings.Contains(err.Error(), "BadDigest") {
		t.Errorf("the object's checksum: %v", err)
	}
	if _, err := p.complete(t, crcOf(p.whole), 999); err == nil || !strings.Contains(err.Error(), "InvalidRequest") {
		t.Errorf("the object's size: %v", err)
	}
	done, err := p.complete(t, crcOf(p.whole), 1000)
	must(t, err)
	if *done.ChecksumCRC64NVME != crcOf(p.whole) || done.ChecksumType != types.ChecksumTypeFullObject {
		t.Errorf("completed as %+v", done)
	}
	head, err := p.client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	must(t, err)
	if *head.ChecksumCRC64NVME != crcOf(p.whole) || head.ChecksumType != types.ChecksumTypeFullObject {
		t.Errorf("head %+v", head)
	}
	head, err = p.client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
	must(t, err)
	if head.ChecksumCRC64NVME != nil {
		t.Error("a checksum that was not asked for")
	}
}

func TestRange(t *testing.T) {
	s := start(t, rawstore.Options{})
	ask(t, s, "PUT", "/b/k", "0123456789")
	for _, c := range []struct {
		header     []string
		status     int
		body, said string
	}{
		{[]string{"Range", "bytes=2-4"}, 206, "234", "bytes 2-4/10"},
		{[]string{"Range", "bytes=8-99"}, 206, "89", "bytes 8-9/10"},
		{[]string{"Range", "bytes=10-11"}, 416, "", ""},
		{[]string{"If-Match", `"other"`}, 412, "", ""},
		{nil, 200, "0123456789", ""},
	} {
		resp, body := ask(t, s, "GET", "/b/k", "", c.header...)
		if resp.StatusCode != c.status || c.body != "" && body != c.body || resp.Header.Get("Content-Range") != c.said {
			t.Errorf("%v: %d %q, %q", c.header, resp.StatusCode, body, resp.Header.Get("Content-Range"))
		}
	}
}

// twists of one piece and of many.
var twists = []struct {
	name     string
	twist    rawstore.Twist
	one, two string // of "abcdef", of "abc" "def"
}{
	{"drop", rawstore.Drop, "", "abc"},
	{"double", rawstore.Double, "abcdefabcdef", "abcabcdef"},
	{"swap", rawstore.Swap, "defabc", "defabc"},
	{"truncate", rawstore.Truncate, "abcde", "abdef"},
	{"flip", rawstore.Flip, "abceef", "accdef"},
}

func TestTwists(t *testing.T) {
	for _, c := range twists {
		for want, pieces := range map[string][][]byte{c.one: {[]byte("abcdef")}, c.two: {[]byte("abc"), []byte("def")}} {
			before := string(bytes.Join(pieces, nil))
			if got := string(bytes.Join(c.twist(pieces), nil)); got != want {
				t.Errorf("%s of %d: %q, want %q", c.name, len(pieces), got, want)
			}
			if after := string(bytes.Join(pieces, nil)); after != before {
				t.Errorf("%s changed its argument to %q", c.name, after)
			}
		}
	}
}

// etagOf is the ETag of one PUT.
func etagOf(body string) string { return fmt.Sprintf(`"%x"`, md5.Sum([]byte(body))) }

// Who keeps something else says so, who pretends does not.
func TestLiesOfOnePut(t *testing.T) {
	for _, c := range twists {
		for pretend, step := range map[bool]rawstore.Step{false: rawstore.Keep(c.twist), true: rawstore.Pretend(c.twist)} {
			s := start(t, rawstore.Options{Rules: []rawstore.Rule{{Op: rawstore.PutObject, Do: []rawstore.Step{rawstore.ReadAll(), step, rawstore.Reply()}}}})
			resp, _ := ask(t, s, "PUT", "/b/k", "abcdef", crcHeader, crcOf([]byte("abcdef")))
			if got := string(s.Object("k")); got != c.one {
				t.Errorf("%s: kept %q, want %q", c.name, got, c.one)
			}
			said := c.one
			if pretend || c.one == "" {
				said = "abcdef"
			}
			if resp.Header.Get("ETag") != etagOf(said) || resp.Header.Get(crcHeader) != crcOf([]byte(said)) {
				t.Errorf("%s, pretending %t: said %v", c.name, pretend, resp.Header)
			}
			if c.one == "" {
				continue
			}
			resp, _ = ask(t, s, "HEAD", "/b/k", "", "X-Amz-Checksum-Mode", "ENABLED")
			if resp.ContentLength != int64(len(c.one)) || resp.Header.Get("ETag") != etagOf(said) || resp.Header.Get(crcHeader) != crcOf([]byte(said)) {
				t.Errorf("%s, pretending %t: HEAD says %d bytes, %v", c.name, pretend, resp.ContentLength, resp.Header)
			}
		}
	}
}

func TestLiesOfComplete(t *testing.T) {
	for _, c := range twists {
		for pretend, step := range map[bool]rawstore.Step{false: rawstore.Keep(c.twist), true: rawstore.Pretend(c.twist)} {
			s := start(t, rawstore.Options{Rules: []rawstore.Rule{{Op: rawstore.Complete, Do: []rawstore.Step{rawstore.ReadAll(), step, rawstore.Reply()}}}})
			p := newParted(t, s)
			want := bytes.Join(c.twist([][]byte{p.whole[:600], p.whole[600:]}), nil)
			done, err := p.complete(t, crcOf(p.whole), 1000)
			must(t, err)
			if !bytes.Equal(s.Object(key), want) {
				t.Errorf("%s: kept something else", c.name)
			}
			same := *done.ChecksumCRC64NVME == crcOf(p.whole)
			if same != pretend || !pretend && *done.ChecksumCRC64NVME != crcOf(want) {
				t.Errorf("%s, pretending %t: said %s", c.name, pretend, *done.ChecksumCRC64NVME)
			}
		}
	}
}

// A part that is not what it was said to be is found when the object is made of the
// bytes, and one that is not there when it is asked for.
func TestLiesOfParts(t *testing.T) {
	for _, c := range twists {
		for pretend, step := range map[bool]rawstore.Step{false: rawstore.Keep(c.twist), true: rawstore.Pretend(c.twist)} {
			s := start(t, rawstore.Options{Rules: []rawstore.Rule{{Op: rawstore.PutPart, Part: 1, Do: []rawstore.Step{rawstore.ReadAll(), step, rawstore.Reply()}}}})
			p := newParted(t, s)
			_, err := p.complete(t, crcOf(p.whole), 1000)
			want := "InvalidPart" // for the part's own checksum
			if pretend && c.one != "" {
				want = "BadDigest"
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, pretending %t: %v", c.name, pretend, err)
			}
		}
	}
}

func TestSay(t *testing.T) {
	s := start(t, rawstore.Options{Rules: []rawstore.Rule{{Do: []rawstore.Step{rawstore.ReadAll(),
		rawstore.Say(func(h http.Header, body string) string { h.Set("ETag", "other"); return body + "more" })}}}})
	resp, body := ask(t, s, "PUT", "/b/k", "abc")
	if resp.Header.Get("ETag") != "other" || body != "more" || string(s.Object("k")) != "abc" {
		t.Errorf("%v %q", resp.Header, body)
	}
}
