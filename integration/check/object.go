// Package check holds what the integration tests assert again and again: an
// object equals its source, an upload left nothing open, a test left no
// goroutine and no descriptor. It also has the sources: Pattern and Random.
package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const (
	// timeout bounds one question to the store, or the reading of one object.
	timeout = 2 * time.Minute

	// window is how much of an object and of its source is held at a time. It
	// is a multiple of 8, so that words stay whole.
	window = 256 << 10
)

// Equal fails the test unless the object is byte for byte the size bytes of
// src. It streams: memory does not grow with the object. Where src is a Source
// the failure tells what was found instead.
func Equal(t testing.TB, client *s3.Client, bucket, key string, src io.ReaderAt, size int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		t.Fatalf("check: get %s/%s: %v", bucket, key, err)
	}
	defer out.Body.Close()
	if err := compare(out.Body, src, size); err != nil {
		t.Fatalf("check: %s/%s: %v", bucket, key, err)
	}
}

// compare tells where got is not the size bytes of src.
func compare(got io.Reader, src io.ReaderAt, size int64) error {
	want := io.NewSectionReader(src, 0, size)
	a, b := make([]byte, window), make([]byte, window)
	for off := int64(0); ; {
		n, err := io.ReadFull(got, a)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return fmt.Errorf("reading at %d: %w", off+int64(n), err)
		}
		m, serr := io.ReadFull(want, b)
		if serr != nil && serr != io.EOF && serr != io.ErrUnexpectedEOF {
			return fmt.Errorf("reading the source at %d: %w", off+int64(m), serr)
		}
		if i := differ(a[:n], b[:m]); i < min(n, m) {
			return fmt.Errorf("differs from the source at %d: %s", off+int64(i), found(a[:n], i, src))
		}
		off += int64(min(n, m))
		switch {
		case n < m:
			return fmt.Errorf("ends after %d bytes, want %d", off, size)
		case n > m:
			return fmt.Errorf("goes on after the %d bytes of the source", off)
		case n < window:
			if off != size {
				return fmt.Errorf("the source has only %d of %d bytes", off, size)
			}
			return nil
		}
	}
}

// differ returns the first index at which a and b differ, or the length of the
// shorter one.
func differ(a, b []byte) int {
	n := min(len(a), len(b))
	if bytes.Equal(a[:n], b[:n]) {
		return n
	}
	i := 0
	for a[i] == b[i] {
		i++
	}
	return i
}

// found describes the word of got around index i.
func found(got []byte, i int, src io.ReaderAt) string {
	word := got[i&^7 : min(len(got), i&^7+8)]
	if s, ok := src.(Source); ok && len(word) == 8 {
		if off, ok := s.origin(word); ok {
			return fmt.Sprintf("holds what belongs at %d", off)
		}
	}
	return fmt.Sprintf("holds % x", word)
}

// NoUploads fails the test if an upload of the key is open. The key is passed
// because MinIO lists uploads for a whole key only.
func NoUploads(t testing.TB, client *s3.Client, bucket, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	in := &s3.ListMultipartUploadsInput{Bucket: &bucket, Prefix: &key}
	for pages := s3.NewListMultipartUploadsPaginator(client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatalf("check: list uploads of %s/%s: %v", bucket, key, err)
		}
		for _, u := range page.Uploads {
			if *u.Key == key {
				t.Errorf("check: upload %s of %s/%s is open", *u.UploadId, bucket, key)
			}
		}
	}
}

// Absent fails the test unless there is no such object.
func Absent(t testing.TB, client *s3.Client, bucket, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	// Unlike HEAD, its answer tells a missing object from a missing bucket.
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err == nil {
		out.Body.Close()
		t.Fatalf("check: %s/%s exists", bucket, key)
	}
	if _, ok := errors.AsType[*types.NoSuchKey](err); !ok {
		t.Fatalf("check: get %s/%s: %v", bucket, key, err)
	}
}
