package integration

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/cmd/chunkup/sandbox"
	"github.com/chunkup/chunkup/integration/minio"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// direct signs whole objects in the head from the first on.
func direct(t *testing.T, client *s3.Client, bucket string) *s3presign.Presigner {
	p := s3presign.NewDirect(client)
	for range 2 { // it learns how the bucket's requests look
		if _, err := p.Presign(t.Context(), presign.Part{Bucket: bucket, Key: "key", Size: 1}); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// directs sends whole objects to a real store.
type directs struct {
	wire   *wire.Client
	client *s3.Client
	signer *s3presign.Presigner
}

const directBucket = "direct"

// newDirects speaks to the server at address, which is known by the endpoint's name.
func newDirects(t *testing.T, profile, endpoint, address, access, secret string) *directs {
	p, err := s3store.ByName(profile)
	if err != nil || !p.DirectHeads {
		t.Fatalf("%+v, %v", p, err)
	}
	d := &directs{wire: wire.NewClient(wire.Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}})}
	t.Cleanup(d.wire.CloseIdle)
	d.client = s3store.NewClient(aws.Config{Credentials: credentials.NewStaticCredentialsProvider(access, secret, "")}, p, endpoint, d.wire)
	if _, err := d.client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(directBucket)}); err != nil {
		t.Fatal(err)
	}
	d.signer = direct(t, d.client, directBucket)
	return d
}

// put signs for text, lets alter change the request, and sends body.
func (d *directs) put(t *testing.T, key, text, body string, header http.Header, alter func(*presign.Request)) error {
	t.Helper()
	hash := chunker.CRC64NVME.New()
	io.WriteString(hash, text)
	r, err := d.signer.Presign(t.Context(), presign.Part{Bucket: directBucket, Key: key, Size: int64(len(text)), Header: header,
		ChecksumHeader: "X-Amz-Checksum-Crc64nvme", Checksum: base64.StdEncoding.EncodeToString(hash.Sum(nil))})
	if err != nil || r.Header.Get("Authorization") == "" || strings.Contains(r.URL, "?") {
		t.Fatalf("not signed in the head: %s, %v", r.URL, err)
	}
	if alter != nil {
		alter(&r)
	}
	return d.send(t, r, body)
}

func (d *directs) send(t *testing.T, r presign.Request, body string) error {
	_, err := d.wire.Do(t.Context(), wire.Request{Method: r.Method, URL: r.URL, Header: r.Header, Size: int64(len(body)), Body: strings.NewReader(body)})
	return err
}

// check puts objects of all kinds and reads them back.
func (d *directs) check(t *testing.T) {
	header := http.Header{"Content-Type": {"text/x-direct"}, "X-Amz-Meta-Spaces": {"  two  words "}, "User-Agent": {"somebody"}}
	for key, text := range map[string]string{
		"plain": "text", "empty": "", "a b+c%2F/ü~(1)?x=1&y#z": "named", "large": strings.Repeat("chunkup ", 3<<17), // the SDK asks first from 2 MiB on
	} {
		if err := d.put(t, key, text, text, header, nil); err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		got, err := d.client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(directBucket), Key: &key})
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		content, err := io.ReadAll(got.Body)
		if got.Body.Close(); err != nil || string(content) != text || *got.ContentType != "text/x-direct" || got.Metadata["spaces"] != "two  words" {
			t.Errorf("%s: %d bytes, %q, %q, %v", key, len(content), *got.ContentType, got.Metadata, err)
		}
	}
}

// checkRefusals changes what was signed: the store must not take it.
func (d *directs) checkRefusals(t *testing.T) {
	for name, alter := range map[string]func(*presign.Request){
		"signature": func(r *presign.Request) { r.Header.Set("Authorization", r.Header.Get("Authorization")+"0") },
		"key":       func(r *presign.Request) { r.URL += "x" },
		"checksum":  func(r *presign.Request) { r.Header.Set("X-Amz-Checksum-Crc64nvme", "AAAAAAAAAAA=") },
		"property":  func(r *presign.Request) { r.Header.Set("X-Amz-Meta-A", "other") },
	} {
		if err := d.put(t, "refused", "text", "text", http.Header{"X-Amz-Meta-A": {"signed"}}, alter); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := d.put(t, "refused", "text", "test", nil, nil); err == nil {
		t.Error("other bytes: taken")
	}
}

// A real store takes what was signed in the head, and nothing else.
func TestDirectHeads(t *testing.T) {
	m := minio.Start(t)
	g, err := sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for name, d := range map[string]*directs{
		"minio":     newDirects(t, "minio", m.URL, strings.TrimPrefix(m.URL, "http://"), m.AccessKey, m.SecretKey),
		"versitygw": newDirects(t, "versitygw", g.URL(), strings.TrimPrefix(g.URL(), "http://"), g.AccessKey(), g.SecretKey()),
	} {
		t.Run(name, func(t *testing.T) {
			d.check(t)
			d.checkRefusals(t)
		})
	}
}

// An endpoint may be named with the port that its scheme implies anyway.
func TestUsualPortNamed(t *testing.T) {
	m := minio.Start(t)
	d := newDirects(t, "minio", "http://store.test:80", strings.TrimPrefix(m.URL, "http://"), m.AccessKey, m.SecretKey)
	d.check(t)
	signed := s3presign.New(d.client, 0)
	r, err := signed.Presign(t.Context(), presign.Part{Bucket: directBucket, Key: "presigned", Size: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.send(t, r, "text"); err != nil {
		t.Error(err)
	}
}
