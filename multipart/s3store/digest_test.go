package s3store_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
)

// with returns a store of these traits.
func (r *recorder) with(traits multipart.Traits) *s3store.Store {
	p := s3store.Profile{PathStyle: true, Region: "us-east-1", Traits: traits}
	cfg := aws.Config{Credentials: credentials.NewStaticCredentialsProvider("AK", "SK", "")}
	return s3store.New(s3store.NewClient(cfg, p, r.URL, r.wire), p, r.wire)
}

// A composite checksum is one only with its number of parts, and is never taken
// for the whole object's.
func TestChecksumsOfObjects(t *testing.T) {
	const crc, crc64 = "n03x6A==", "AAAAAAAAAAA="
	sha := strings.Repeat("A", 43) + "="
	composite := multipart.Traits{Algorithm: chunker.CRC32C}
	full := multipart.Traits{Algorithm: chunker.CRC32C, FullObject: true}
	for name, tc := range map[string]struct {
		traits           multipart.Traits
		etag             string
		algorithm        chunker.Algorithm
		text, kind, want string
		parts            int
	}{
		"full":                           {full, `"e-3"`, chunker.CRC32C, crc, "FULL_OBJECT", crc, 0},
		"full, against the profile":      {composite, `"e-3"`, chunker.CRC32C, crc, "FULL_OBJECT", crc, 0},
		"full, MinIO":                    {full, `"e-3"`, chunker.CRC32C, crc, "", crc, 0},
		"of one PUT":                     {composite, `"e"`, chunker.SHA256, sha, "", sha, 0},
		"CRC64NVME":                      {multipart.Traits{Algorithm: chunker.CRC64NVME}, `"e-3"`, chunker.CRC64NVME, crc64, "", crc64, 0},
		"composite":                      {composite, `"e-3"`, chunker.CRC32C, crc + "-3", "COMPOSITE", crc, 3},
		"composite, MinIO":               {composite, `"e-12"`, chunker.CRC32, crc + "-12", "", crc, 12},
		"composite, against the profile": {full, `"e-3"`, chunker.CRC32C, crc + "-3", "", crc, 3},
		"composite of SHA-256":           {composite, `"e-3"`, chunker.SHA256, sha + "-3", "COMPOSITE", sha, 3},
		"composite without a number":     {composite, `"e-3"`, chunker.CRC32C, crc, "COMPOSITE", "", 0},
		"nothing says which":             {composite, `"e-3"`, chunker.CRC32C, crc, "", "", 0},
		"SHA-256 has no full form":       {full, `"e-3"`, chunker.SHA256, sha, "", "", 0},
		"no number":                      {composite, `"e-3"`, chunker.CRC32C, crc + "-x", "", "", 0},
		"no parts":                       {full, `"e-3"`, chunker.CRC32C, crc + "-0", "", "", 0},
		"nonsense":                       {composite, `"e-3"`, chunker.CRC32C, "x-3", "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := record(t, func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("ETag", tc.etag)
				w.Header().Set("X-Amz-Checksum-"+tc.algorithm.String(), tc.text)
				if tc.kind != "" {
					w.Header().Set("X-Amz-Checksum-Type", tc.kind)
				}
				if req.Method == "POST" {
					element := "Checksum" + strings.ToUpper(tc.algorithm.String())
					fmt.Fprintf(w, `<CompleteMultipartUploadResult><ETag>%[1]s</ETag><%[2]s>%[3]s</%[2]s><ChecksumType>%[4]s</ChecksumType></CompleteMultipartUploadResult>`,
						tc.etag, element, tc.text, tc.kind)
				}
			})
			s := r.with(tc.traits)
			head, err := s.Head(t.Context(), "b", "k")
			if err != nil || head.Digest.Base64() != tc.want || head.Composite != tc.parts {
				t.Errorf("head: %v of %d parts, %v", head.Digest, head.Composite, err)
			}
			done, err := s.Complete(t.Context(), upload, multipart.Completion{})
			if err != nil || done.Digest != head.Digest || done.Composite != tc.parts {
				t.Errorf("complete: %v of %d parts, %v", done.Digest, done.Composite, err)
			}
		})
	}
}

// GCS says in a header of its own what an object's bytes are.
func TestGoogHash(t *testing.T) {
	const crc, md5 = "crc32c:n03x6A==", "md5:Ojk9c3dhfxgoKVVHYwFbHQ=="
	for name, tc := range map[string]struct {
		lines     []string
		algorithm chunker.Algorithm
		want      string
	}{
		"alone":             {[]string{"crc32c=n03x6A=="}, chunker.CRC32C, crc},
		"another algorithm": {[]string{"crc32c=n03x6A=="}, chunker.MD5, crc},
		"two lines":         {[]string{"crc32c=n03x6A==", "md5=Ojk9c3dhfxgoKVVHYwFbHQ=="}, chunker.CRC32C, crc},
		"one line":          {[]string{"md5=Ojk9c3dhfxgoKVVHYwFbHQ==, crc32c=n03x6A=="}, chunker.CRC32C, crc},
		"MD5 is wanted":     {[]string{"crc32c=n03x6A==,md5=Ojk9c3dhfxgoKVVHYwFbHQ=="}, chunker.MD5, md5},
		"neither is wanted": {[]string{"md5=Ojk9c3dhfxgoKVVHYwFbHQ==,crc32c=n03x6A=="}, chunker.None, crc},
		"nonsense":          {[]string{"crc32c", "=", "sha1=AAAA,crc32c=AAAAAA", "none="}, chunker.CRC32C, "none"},
		"none":              {nil, chunker.CRC32C, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			r := record(t, func(w http.ResponseWriter, req *http.Request) {
				w.Header()["X-Goog-Hash"] = tc.lines
				if req.Method == "POST" {
					fmt.Fprint(w, `<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>`)
				}
			})
			s := r.with(multipart.Traits{Algorithm: tc.algorithm, GoogHash: true})
			if info, err := s.Head(t.Context(), "b", "k"); err != nil || info.Digest.String() != tc.want || info.Composite != 0 {
				t.Errorf("head: %v, %v", info.Digest, err)
			}
			if info, err := s.Complete(t.Context(), upload, multipart.Completion{}); err != nil || info.Digest.String() != tc.want {
				t.Errorf("complete: %v, %v", info.Digest, err)
			}
		})
	}
}

// A store with hashes of Google's kind is told nothing of S3's checksums.
func TestGoogHashDeclaresNothing(t *testing.T) {
	r := record(t, answerXML(200, `<InitiateMultipartUploadResult><UploadId>U1</UploadId><ETag>"e"</ETag></InitiateMultipartUploadResult>`))
	s := r.with(multipart.Traits{Algorithm: chunker.CRC32C, FullObject: true, GoogHash: true})
	d, _ := chunker.ParseDigest(chunker.CRC32C, "n03x6A==")
	s.Create(t.Context(), multipart.Intent{Bucket: "b", Key: "k", Algorithm: chunker.CRC32C, FullObject: true})
	s.Complete(t.Context(), upload, multipart.Completion{Parts: []multipart.Receipt{{Number: 1, ETag: `"e"`, Digest: d}},
		Size: 5, Algorithm: chunker.CRC32C, FullObject: true, Digest: d})
	s.Head(t.Context(), "b", "k")
	for i, req := range r.requests {
		for name := range req.Header {
			if strings.Contains(name, "Checksum") || name == "X-Amz-Mp-Object-Size" {
				t.Errorf("%s %s: %s", req.Method, req.URL, name)
			}
		}
		if strings.Contains(r.bodies[i], "Checksum") {
			t.Error(r.bodies[i])
		}
	}
}
