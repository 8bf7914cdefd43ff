package s3store

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/multipart/wire"
)

// ReadRange reads size bytes of an object from offset on, fewer only if it ends
// before. An offset at or behind its end is a *wire.StoreError of status 416.
// With an ETag, an object that has another one is a *wire.StoreError of status
// 412, also from a store that does not know If-Match. Whatever the store
// answers, what is returned is exactly what was asked for, or there is an error.
//
// The answer is held in memory; it may take as long as a part of size bytes may
// take to be sent.
func (s *Store) ReadRange(ctx context.Context, bucket, key, etag string, offset, size int64) ([]byte, error) {
	if offset < 0 || size <= 0 {
		return nil, fmt.Errorf("read %s: no range of %d bytes begins at %d", key, size, offset)
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	in := &s3.GetObjectInput{Bucket: &bucket, Key: &key, Range: aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+size-1))}
	if etag != "" {
		in.IfMatch = &etag
	}
	out, err := s.client.GetObject(ctx, in, func(o *s3.Options) { o.HTTPClient = s.wire.Download(size) })
	if err != nil {
		return nil, translate(err)
	}
	body, err := io.ReadAll(out.Body) // it is in memory already
	if err != nil {
		return nil, err
	}
	if got := aws.ToString(out.ETag); etag != "" && got != etag {
		return nil, &wire.StoreError{Status: http.StatusPreconditionFailed, Code: "PreconditionFailed",
			Message: fmt.Sprintf("the object has ETag %s instead of %s", got, etag)}
	}
	if !isRange(aws.ToString(out.ContentRange), offset, size, int64(len(body))) {
		return nil, fmt.Errorf("read %s: asked for %d bytes from %d on, the store answered %d bytes as range %q",
			key, size, offset, len(body), aws.ToString(out.ContentRange))
	}
	return body, nil
}

// isRange reports that got bytes, answered with this Content-Range, are the
// size bytes from offset on, or all that there are from there.
func isRange(contentRange string, offset, size, got int64) bool {
	var first, last, whole int64
	if n, err := fmt.Sscanf(contentRange, "bytes %d-%d/%d", &first, &last, &whole); n != 3 || err != nil {
		return false
	}
	return first == offset && last == offset+got-1 && (got == size || got < size && last == whole-1)
}
