package sandbox

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func TestCompleteAndHead(t *testing.T) {
	r := start(t, Options{})
	whole := pattern(12*mib + 345)
	metadata := map[string]string{"chunkup-token": "abc", "other": "ü"}
	out := r.upload("dir/big", metadata, whole)
	if *out.Bucket != "demo" || *out.Key != "dir/big" || !strings.HasSuffix(*out.ETag, `-3"`) {
		t.Errorf("%s %s %s", *out.Bucket, *out.Key, *out.ETag)
	}
	if aws.ToString(out.ChecksumCRC64NVME) != crc64(whole) || out.ChecksumType != types.ChecksumTypeFullObject {
		t.Errorf("Complete: checksum %s %s, want %s", aws.ToString(out.ChecksumCRC64NVME), out.ChecksumType, crc64(whole))
	}
	head, err := r.head("dir/big")
	if err != nil {
		t.Fatal(err)
	}
	if aws.ToString(head.ChecksumCRC64NVME) != crc64(whole) || head.ChecksumType != types.ChecksumTypeFullObject {
		t.Errorf("HEAD: checksum %s %s", aws.ToString(head.ChecksumCRC64NVME), head.ChecksumType)
	}
	if *head.ContentLength != int64(len(whole)) || *head.ETag != *out.ETag || !maps.Equal(head.Metadata, metadata) {
		t.Errorf("HEAD: %d %s %v", *head.ContentLength, *head.ETag, head.Metadata)
	}
}

func TestCompleteRefusals(t *testing.T) {
	r := start(t, Options{})
	whole := pattern(5*mib + 7)
	const key = "k"
	r.put("taken", "x")
	for name, c := range map[string]struct {
		change func(*s3.CompleteMultipartUploadInput)
		key    string
		status int
		code   string
	}{
		"another checksum of the whole": {func(in *s3.CompleteMultipartUploadInput) { in.ChecksumCRC64NVME = aws.String(crc64(nil)) }, key, 400, "BadDigest"},
		"another size":                  {func(in *s3.CompleteMultipartUploadInput) { *in.MpuObjectSize++ }, key, 400, "InvalidRequest"},
		"another type of checksum":      {func(in *s3.CompleteMultipartUploadInput) { in.ChecksumType = types.ChecksumTypeComposite }, key, 400, "InvalidRequest"},
		"another ETag of a part": {func(in *s3.CompleteMultipartUploadInput) {
			in.MultipartUpload.Parts[1].ETag = in.MultipartUpload.Parts[0].ETag
		}, key, 400, "InvalidPart"},
		"another checksum of a part": {func(in *s3.CompleteMultipartUploadInput) {
			in.MultipartUpload.Parts[1].ChecksumCRC64NVME = aws.String(crc64(nil))
		}, key, 400, "InvalidPart"},
		"no checksum of a part":    {func(in *s3.CompleteMultipartUploadInput) { in.MultipartUpload.Parts[1].ChecksumCRC64NVME = nil }, key, 400, "InvalidRequest"},
		"a part that is not there": {func(in *s3.CompleteMultipartUploadInput) { in.MultipartUpload.Parts[1].PartNumber = aws.Int32(9) }, key, 400, "InvalidPart"},
		"a part twice":             {func(in *s3.CompleteMultipartUploadInput) { in.MultipartUpload.Parts[1] = in.MultipartUpload.Parts[0] }, key, 400, "InvalidPartOrder"},
		"a small part in the middle": {func(in *s3.CompleteMultipartUploadInput) {
			p := in.MultipartUpload.Parts
			in.MultipartUpload.Parts = append(p, types.CompletedPart{PartNumber: aws.Int32(3), ETag: p[0].ETag, ChecksumCRC64NVME: p[0].ChecksumCRC64NVME})
		}, key, 400, "EntityTooSmall"},
		"no part at all":         {func(in *s3.CompleteMultipartUploadInput) { in.MultipartUpload.Parts = nil }, key, 400, "MalformedXML"},
		"create only, and taken": {func(in *s3.CompleteMultipartUploadInput) { in.IfNoneMatch = aws.String("*") }, "taken", 412, "PreconditionFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := r
			r.t = t
			id := r.create(c.key, nil)
			parts := []types.CompletedPart{r.part(c.key, id, 1, whole[:5*mib]), r.part(c.key, id, 2, whole[5*mib:])}
			good := completion(c.key, id, whole, parts...)
			bad := completion(c.key, id, whole, append([]types.CompletedPart(nil), parts...)...)
			c.change(bad)
			_, err := r.s3.CompleteMultipartUpload(t.Context(), bad)
			if status, code := failure(err); status != c.status || code != c.code {
				t.Errorf("%v, want %d %s", err, c.status, c.code)
			}
			t.Log(err)
			// A refusal leaves the upload as it was.
			if _, err := r.s3.CompleteMultipartUpload(t.Context(), good); err != nil {
				t.Errorf("the right Complete after it: %v", err)
			}
		})
	}
}

func TestCreateOnly(t *testing.T) {
	r := start(t, Options{})
	if err := r.tryPut("k", "first", aws.String("*")); err != nil {
		t.Fatal(err)
	}
	err := r.tryPut("k", "second", aws.String("*"))
	if status, code := failure(err); status != http.StatusPreconditionFailed || code != "PreconditionFailed" {
		t.Errorf("%v", err)
	}
	id := r.create("new", nil)
	in := completion("new", id, []byte("x"), r.part("new", id, 1, []byte("x")))
	in.IfNoneMatch = aws.String("*")
	if _, err := r.s3.CompleteMultipartUpload(t.Context(), in); err != nil {
		t.Error(err)
	}
}

// The backend alone answers 200 to all of these, since the key has an object.
func TestCompleteOfAnUnknownUpload(t *testing.T) {
	r := start(t, Options{})
	whole := pattern(6 * mib)
	r.upload("k", nil, whole)
	aborted := r.create("k", nil)
	part := r.part("k", aborted, 1, whole)
	abort := &s3.AbortMultipartUploadInput{Bucket: aws.String("demo"), Key: aws.String("k"), UploadId: &aborted}
	if _, err := r.s3.AbortMultipartUpload(t.Context(), abort); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{aborted, "ffffffff-0000-4000-8000-000000000000"} {
		_, complete := r.s3.CompleteMultipartUpload(t.Context(), completion("k", id, whole, part))
		_, list := r.s3.ListParts(t.Context(), &s3.ListPartsInput{Bucket: aws.String("demo"), Key: aws.String("k"), UploadId: &id})
		abort.UploadId = &id
		_, again := r.s3.AbortMultipartUpload(t.Context(), abort)
		for op, err := range map[string]error{"complete": complete, "list": list, "abort": again} {
			if status, code := failure(err); status != http.StatusNotFound || code != "NoSuchUpload" {
				t.Errorf("%s: %v, want 404 NoSuchUpload", op, err)
			}
		}
	}
}

// A Complete whose answer was lost may be sent again.
func TestCompleteAgain(t *testing.T) {
	r := start(t, Options{})
	id := r.create("k", nil)
	in := completion("k", id, []byte("x"), r.part("k", id, 1, []byte("x")))
	first, err := r.s3.CompleteMultipartUpload(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.s3.CompleteMultipartUpload(t.Context(), in)
	if err != nil || *second.ETag != *first.ETag {
		t.Fatalf("the same upload again: %v", err)
	}
	r.put("k", "someone else's")
	_, err = r.s3.CompleteMultipartUpload(t.Context(), in)
	if status, code := failure(err); status != http.StatusNotFound || code != "NoSuchUpload" {
		t.Errorf("after the object was replaced: %v, want 404 NoSuchUpload", err)
	}
}

// The backend alone answers 200 to the later ones before there is an object.
func TestCompleteAtTheSameTime(t *testing.T) {
	r := start(t, Options{})
	zeros := make([]byte, 16*mib)
	id := r.create("k", nil)
	in := completion("k", id, append(zeros, zeros...), r.part("k", id, 1, zeros), r.part("k", id, 2, zeros))
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			_, err := r.s3.CompleteMultipartUpload(t.Context(), in)
			_, head := r.head("k")
			errs[i] = errors.Join(err, head)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// The gateway's strings lie in the buffer of a request. An answer that is shared
// outlives the request it was made for, whose buffer is overwritten by then.
func TestCompleteKeepsNoStringOfTheRequest(t *testing.T) {
	r := start(t, Options{})
	id := r.create("k", nil)
	in := completion("k", id, []byte("x"), r.part("k", id, 1, []byte("x")))
	var buffers [][]byte
	lent := func(s *string) *string {
		b := []byte(*s)
		buffers = append(buffers, b)
		return aws.String(unsafe.String(&b[0], len(b)))
	}
	in.Bucket, in.Key, in.UploadId, in.ChecksumCRC64NVME = lent(in.Bucket), lent(in.Key), lent(in.UploadId), lent(in.ChecksumCRC64NVME)
	out, _, err := r.store.CompleteMultipartUpload(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range buffers {
		clear(b)
	}
	if *out.Bucket != "demo" || *out.Key != "k" || aws.ToString(out.ChecksumCRC64NVME) != crc64([]byte("x")) {
		t.Errorf("%q %q %q", *out.Bucket, *out.Key, aws.ToString(out.ChecksumCRC64NVME))
	}
}
