package s3store

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// List returns all pages of the parts that the store holds, each part once: of
// one that is listed twice the last counts, as it does when a part is sent
// twice. A store that says there is more but gives the same page again has no
// more to give; what it withholds is as good as not there, and is sent again.
func (s *Store) List(ctx context.Context, u multipart.Upload) ([]multipart.Receipt, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	parts := map[int]multipart.Receipt{}
	in := &s3.ListPartsInput{Bucket: &u.Bucket, Key: &u.Key, UploadId: &u.ID}
	for marker := 0; ; {
		page, err := s.client.ListParts(ctx, in)
		if err == nil {
			err = isPage(headerOf(page.ResultMetadata))
		}
		if err != nil {
			return nil, translate(err)
		}
		// Not every store names the next marker; it is the last part's number.
		next, _ := strconv.Atoi(aws.ToString(page.NextPartNumberMarker))
		for _, p := range page.Parts {
			d, _ := checksums{p.ChecksumCRC64NVME, p.ChecksumCRC32C, p.ChecksumCRC32, p.ChecksumSHA256}.read()
			number := int(aws.ToInt32(p.PartNumber))
			parts[number] = multipart.Receipt{Number: number, Size: aws.ToInt64(p.Size), ETag: aws.ToString(p.ETag), Digest: d}
			next = max(next, number)
		}
		if !aws.ToBool(page.IsTruncated) || next <= marker {
			break
		}
		marker = next
		in.PartNumberMarker = aws.String(strconv.Itoa(marker))
	}
	return slices.SortedFunc(maps.Values(parts), func(a, b multipart.Receipt) int { return cmp.Compare(a.Number, b.Number) }), nil
}

// place is where a page of uploads ends: an upload, which the next page begins
// after.
type place struct{ key, id string }

// ListUploads returns all pages of the unfinished uploads whose keys begin with
// the prefix, each once, in the order in which the store has them. A store that
// repeats itself ends the list, as in [Store.List].
//
// MinIO knows no prefixes here: it lists the uploads of the one key that the
// prefix is, and none for any other prefix; for the empty one, those that were
// begun at this server since it was started (cmd/erasure-server-pool.go). Both are
// asked for there ([Profile.ExactPrefix]).
func (s *Store) ListUploads(ctx context.Context, bucket, prefix string) ([]multipart.Unfinished, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	known := map[place]bool{}
	uploads, err := s.listUploads(ctx, bucket, prefix, known)
	if err != nil || !s.profile.ExactPrefix || prefix == "" {
		return uploads, err
	}
	all, err := s.listUploads(ctx, bucket, "", known)
	others := slices.DeleteFunc(all, func(u multipart.Unfinished) bool { return !strings.HasPrefix(u.Key, prefix) })
	return append(uploads, others...), err
}

// listUploads lists those that are not known yet.
func (s *Store) listUploads(ctx context.Context, bucket, prefix string, known map[place]bool) ([]multipart.Unfinished, error) {
	var uploads []multipart.Unfinished
	read := map[place]bool{{}: true}
	in := &s3.ListMultipartUploadsInput{Bucket: &bucket}
	if prefix != "" {
		in.Prefix = &prefix
	}
	for {
		page, err := s.client.ListMultipartUploads(ctx, in)
		if err == nil {
			err = isPage(headerOf(page.ResultMetadata))
		}
		if err != nil {
			return nil, translate(err)
		}
		listed, _ := http.ParseTime(headerOf(page.ResultMetadata).Get("Date")) // zero if there is none
		end := place{aws.ToString(page.NextKeyMarker), aws.ToString(page.NextUploadIdMarker)}
		for _, u := range page.Uploads {
			at := place{aws.ToString(u.Key), aws.ToString(u.UploadId)}
			if !known[at] {
				known[at] = true
				uploads = append(uploads, multipart.Unfinished{Initiated: aws.ToTime(u.Initiated), Listed: listed,
					Upload: multipart.Upload{Bucket: bucket, Key: at.key, ID: at.id}})
			}
			if page.NextKeyMarker == nil {
				end = at // this store names no marker; it is the last upload
			}
		}
		if !aws.ToBool(page.IsTruncated) || read[end] {
			return uploads, nil
		}
		read[end] = true
		in.KeyMarker, in.UploadIdMarker = &end.key, &end.id
	}
}

// isPage returns an error for a web page (a proxy that wants a login, say), in
// which the SDK finds no parts and no uploads. What is not there must not be
// taken for what was said not to be there.
func isPage(header http.Header) error {
	if kind := header.Get("Content-Type"); strings.HasPrefix(kind, "text/html") {
		return wire.NewStoreError(http.StatusOK, header, "UnknownError", "the answer is a web page")
	}
	return nil
}
