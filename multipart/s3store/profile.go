package s3store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
)

// Profile is what one provider's store can do and how it wants to be spoken to.
type Profile struct {
	Name string

	// PathStyle puts the bucket in the path instead of the host name.
	PathStyle bool

	// Region is used where none is configured; empty if there has to be one.
	Region string

	// Plain leaves out of requests what the SDK adds and only AWS is known to
	// take: a signed Accept-Encoding, and the x-id parameter.
	Plain bool

	// ExactPrefix says that the store lists the unfinished uploads of one key, or all
	// that it remembers, and takes no other prefix.
	ExactPrefix bool

	// DirectHeads says that small files are signed for in the head (package s3presign,
	// NewDirect): the store was seen to take that, and to spend less on it.
	DirectHeads bool

	// Traits hold everything but the endpoint, which the client knows.
	Traits multipart.Traits
}

const (
	mib, gib, tib = int64(1 << 20), int64(1 << 30), int64(1 << 40)
	gb, tb        = int64(1e9), int64(1e12)
)

// profiles returns the table of stores. A value that no source confirms is the
// conservative one: Content-MD5 is the one digest that every store verifies,
// path-style addresses and us-east-1 are what most clones take, and whether a
// store honours If-None-Match is not found out by trying.
func profiles() []Profile {
	fullObject := multipart.Traits{Algorithm: chunker.CRC64NVME, FullObject: true, CreateOnly: true}
	md5 := func(l chunker.Limits) multipart.Traits { return multipart.Traits{Algorithm: chunker.MD5, Limits: l} }

	opaque := md5(chunker.Limits{MaxPart: 4768 * mib})
	opaque.OpaqueETag = true

	return []Profile{
		// https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html; the SDK's
		// own words on CompleteMultipartUpload and PutObject for the rest.
		{Name: "aws", Traits: fullObject},

		// https://cloud.google.com/storage/docs/multipart-uploads: no preconditions,
		// 5 TiB, no MD5 of the object. A part's digest does not go up as
		// X-Goog-Hash: "Requests cannot specify both x-amz and x-goog headers" (400
		// ExcessHeaderValues), and the SDK signs with x-amz ones. What HEAD says of
		// the whole in that header is read all the same. Its front end rewrites
		// Accept-Encoding (https://github.com/aws/aws-sdk-go-v2/issues/1816).
		{Name: "gcs", PathStyle: true, Region: "auto", Plain: true, Traits: multipart.Traits{Algorithm: chunker.MD5,
			Whole: chunker.CRC32C, OpaqueETag: true, Limits: chunker.Limits{MaxObject: 5 * tib}}},

		{Name: "r2", PathStyle: true, Region: "auto", Traits: r2()},

		// It refuses S3's checksum headers (https://github.com/iterate-ch/cyberduck/issues/15841);
		// the largest part is rclone's, "for b2 compatibility" (backend/s3/s3.go), and
		// 10 TB the smaller of the sizes that are told of.
		{Name: "b2", PathStyle: true, Traits: md5(chunker.Limits{MaxPart: 4768 * mib, MaxObject: 10 * tb})},

		// The conformance tests run against both.
		{Name: "minio", PathStyle: true, Region: "us-east-1", ExactPrefix: true, DirectHeads: true, Traits: fullObject},
		{Name: "versitygw", PathStyle: true, Region: "us-east-1", DirectHeads: true, Traits: fullObject},

		// Old releases know no checksums, and none says reliably how old it is.
		{Name: "ceph", PathStyle: true, Region: "us-east-1", Traits: md5(chunker.Limits{})},

		// Both as quoted in https://github.com/pglombardo/PasswordPusher/issues/1895.
		{Name: "wasabi", Traits: md5(chunker.Limits{MaxPart: 5 * gb, MaxObject: 5 * tb})},
		{Name: "spaces", Region: "us-east-1", Traits: md5(chunker.Limits{MaxPart: 5 * gb, MaxObject: 5 * tb})},

		// Its source: weed/s3api/crc_combine.go and filer_multipart.go of
		// https://github.com/seaweedfs/seaweedfs.
		{Name: "seaweedfs", PathStyle: true, Region: "us-east-1", Traits: fullObject},

		// What rclone has learned of them: the ETag of an object from parts is none
		// that follows from the parts (setQuirks in backend/s3/s3.go of
		// https://github.com/rclone/rclone).
		{Name: "alibaba", Traits: opaque},
		{Name: "tencent", Traits: opaque},
		{Name: "ibm", PathStyle: true, Region: "us-east-1", Traits: opaque},

		// 4768 MiB is the largest part that all of them take.
		{Name: "generic", PathStyle: true, Region: "us-east-1", Plain: true, Traits: md5(chunker.Limits{MaxPart: 4768 * mib})},
	}
}

// r2 are R2's limits, equal parts, checksum types and conditional operations:
// https://developers.cloudflare.com/r2/platform/limits,
// https://developers.cloudflare.com/r2/objects/multipart-objects,
// https://developers.cloudflare.com/r2/api/s3/api,
// https://developers.cloudflare.com/r2/api/s3/conditional-operations
func r2() multipart.Traits {
	return multipart.Traits{Algorithm: chunker.CRC64NVME, FullObject: true, CreateOnly: true, EqualParts: true,
		Limits: chunker.Limits{MaxPart: 5*gib - 5*mib, MaxObject: 5*tib - 5*gib}}
}

// Names lists the profiles.
func Names() []string {
	var names []string
	for _, p := range profiles() {
		names = append(names, p.Name)
	}
	return names
}

// ByName returns the profile of a provider.
func ByName(name string) (Profile, error) {
	all := profiles()
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, fmt.Errorf("unknown provider %q: known are %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}
