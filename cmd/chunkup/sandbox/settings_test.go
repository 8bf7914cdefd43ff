package sandbox

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// step is a call and the code of the error that it must end with, if any.
type step struct {
	name string
	do   func() (any, error)
	code string
}

func run(t *testing.T, steps []step) {
	t.Helper()
	for _, s := range steps {
		_, err := s.do()
		if _, code := failure(err); code != s.code || (err == nil) != (s.code == "") {
			t.Errorf("%s: %v, want %q", s.name, err, s.code)
		}
	}
}

func TestCorsAndPolicyOfABucket(t *testing.T) {
	r := start(t, Options{})
	ctx, demo := t.Context(), aws.String("demo")
	cors := &types.CORSConfiguration{CORSRules: []types.CORSRule{{AllowedMethods: []string{"PUT"}, AllowedOrigins: []string{"https://example.com"}}}}
	policy := `{"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::demo/*"}]}`
	run(t, []step{
		{"no cors yet", func() (any, error) { return r.s3.GetBucketCors(ctx, &s3.GetBucketCorsInput{Bucket: demo}) }, "NoSuchCORSConfiguration"},
		{"put cors", func() (any, error) {
			return r.s3.PutBucketCors(ctx, &s3.PutBucketCorsInput{Bucket: demo, CORSConfiguration: cors})
		}, ""},
		{"get cors", func() (any, error) { return r.s3.GetBucketCors(ctx, &s3.GetBucketCorsInput{Bucket: demo}) }, ""},
		{"delete cors", func() (any, error) { return r.s3.DeleteBucketCors(ctx, &s3.DeleteBucketCorsInput{Bucket: demo}) }, ""},
		{"no policy yet", func() (any, error) { return r.s3.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: demo}) }, "NoSuchBucketPolicy"},
		{"put policy", func() (any, error) {
			return r.s3.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: demo, Policy: &policy})
		}, ""},
		{"get policy", func() (any, error) { return r.s3.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: demo}) }, ""},
		{"delete policy", func() (any, error) { return r.s3.DeleteBucketPolicy(ctx, &s3.DeleteBucketPolicyInput{Bucket: demo}) }, ""},
	})
}

func TestOwnerOfABucket(t *testing.T) {
	r := start(t, Options{})
	ctx, demo := t.Context(), aws.String("demo")
	preferred := &types.OwnershipControls{Rules: []types.OwnershipControlsRule{{ObjectOwnership: types.ObjectOwnershipBucketOwnerPreferred}}}
	run(t, []step{
		{"put ownership", func() (any, error) {
			return r.s3.PutBucketOwnershipControls(ctx, &s3.PutBucketOwnershipControlsInput{Bucket: demo, OwnershipControls: preferred})
		}, ""},
		{"get ownership", func() (any, error) {
			return r.s3.GetBucketOwnershipControls(ctx, &s3.GetBucketOwnershipControlsInput{Bucket: demo})
		}, ""},
		{"put acl", func() (any, error) {
			return r.s3.PutBucketAcl(ctx, &s3.PutBucketAclInput{Bucket: demo, ACL: types.BucketCannedACLPrivate})
		}, ""},
		{"get acl", func() (any, error) { return r.s3.GetBucketAcl(ctx, &s3.GetBucketAclInput{Bucket: demo}) }, ""},
		{"delete ownership", func() (any, error) {
			return r.s3.DeleteBucketOwnershipControls(ctx, &s3.DeleteBucketOwnershipControlsInput{Bucket: demo})
		}, ""},
		{"get versioning", func() (any, error) {
			return r.s3.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: demo})
		}, ""},
		{"no lock", func() (any, error) {
			return r.s3.GetObjectLockConfiguration(ctx, &s3.GetObjectLockConfigurationInput{Bucket: demo})
		}, "ObjectLockConfigurationNotFoundError"},
	})
}

func TestTags(t *testing.T) {
	r := start(t, Options{})
	r.put("k", "x")
	ctx, demo, key := t.Context(), aws.String("demo"), aws.String("k")
	tags := &types.Tagging{TagSet: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}
	run(t, []step{
		{"none yet", func() (any, error) { return r.s3.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: demo}) }, "NoSuchTagSet"},
		{"put", func() (any, error) {
			return r.s3.PutBucketTagging(ctx, &s3.PutBucketTaggingInput{Bucket: demo, Tagging: tags})
		}, ""},
		{"get", func() (any, error) { return r.s3.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: demo}) }, ""},
		{"delete", func() (any, error) { return r.s3.DeleteBucketTagging(ctx, &s3.DeleteBucketTaggingInput{Bucket: demo}) }, ""},
		{"put an object's", func() (any, error) {
			return r.s3.PutObjectTagging(ctx, &s3.PutObjectTaggingInput{Bucket: demo, Key: key, Tagging: tags})
		}, ""},
		{"get an object's", func() (any, error) {
			return r.s3.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{Bucket: demo, Key: key})
		}, ""},
		{"delete an object's", func() (any, error) {
			return r.s3.DeleteObjectTagging(ctx, &s3.DeleteObjectTaggingInput{Bucket: demo, Key: key})
		}, ""},
	})
}

func TestLifeOfABucket(t *testing.T) {
	r := start(t, Options{})
	r.put("k", "x")
	ctx, demo, key := t.Context(), aws.String("demo"), aws.String("k")
	run(t, []step{
		{"head", func() (any, error) { return r.s3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: demo}) }, ""},
		{"attributes", func() (any, error) {
			return r.s3.GetObjectAttributes(ctx, &s3.GetObjectAttributesInput{Bucket: demo, Key: key, ObjectAttributes: []types.ObjectAttributes{"Checksum", "ObjectSize"}})
		}, ""},
		{"list", func() (any, error) { return r.s3.ListObjects(ctx, &s3.ListObjectsInput{Bucket: demo}) }, ""},
		{"list versions", func() (any, error) {
			return r.s3.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: demo})
		}, ""},
		{"copy", func() (any, error) {
			return r.s3.CopyObject(ctx, &s3.CopyObjectInput{Bucket: demo, Key: aws.String("k2"), CopySource: aws.String("demo/k")})
		}, "NotImplemented"},
		{"delete while it is full", func() (any, error) { return r.s3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: demo}) }, "BucketNotEmpty"},
		{"delete objects", func() (any, error) {
			return r.s3.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: demo, Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: key}}}})
		}, ""},
		{"create again", func() (any, error) { return r.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: demo}) }, "BucketAlreadyOwnedByYou"},
		{"delete", func() (any, error) { return r.s3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: demo}) }, ""},
		{"head once it is gone", func() (any, error) { return r.s3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: demo}) }, "NotFound"},
		{"create", func() (any, error) { return r.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: demo}) }, ""},
	})
}

// Where the folder is stays between the store and the backend.
func TestAnswersNameTheBucketAndNotItsPath(t *testing.T) {
	r := start(t, Options{})
	r.put("k", "x")
	presign := s3.NewPresignClient(r.s3)
	nono := aws.String("nono")
	for name, sign := range map[string]func() (string, error){
		"list": func() (string, error) {
			p, err := presign.PresignGetObject(t.Context(), &s3.GetObjectInput{Bucket: nono, Key: aws.String("k")})
			return p.URL, err
		},
		"bucket": func() (string, error) {
			p, err := presign.PresignHeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: nono})
			return p.URL, err
		},
	} {
		u, err := sign()
		if err != nil {
			t.Fatal(err)
		}
		method := http.MethodGet
		if name == "bucket" {
			method = http.MethodHead
		}
		req, err := http.NewRequestWithContext(t.Context(), method, u, nil)
		if err != nil {
			t.Fatal(err)
		}
		a := r.do(req)
		if a.Status != http.StatusNotFound || strings.Contains(a.Body, r.Dir()) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
		if method == http.MethodGet && !strings.Contains(a.Body, "<BucketName>nono</BucketName>") {
			t.Errorf("%s: %s", name, a.Body)
		}
	}
}

func TestBucketsAreListedInPages(t *testing.T) {
	r := start(t, Options{Buckets: []string{"a-1", "a-2", "a-3", "b-1"}})
	if err := os.WriteFile(filepath.Join(r.Dir(), "a-file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	in := &s3.ListBucketsInput{Prefix: aws.String("a-"), MaxBuckets: aws.Int32(2)}
	for pages := 1; ; pages++ {
		out, err := r.s3.ListBuckets(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range out.Buckets {
			got = append(got, *b.Name)
		}
		if in.ContinuationToken = out.ContinuationToken; in.ContinuationToken == nil {
			if pages != 2 || !slices.Equal(got, []string{"a-1", "a-2", "a-3"}) {
				t.Errorf("%q in %d pages", got, pages)
			}
			return
		}
	}
}

func TestListsNameTheBucket(t *testing.T) {
	r := start(t, Options{})
	ctx, demo := t.Context(), aws.String("demo")
	upload, err1 := r.s3.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: demo, Key: aws.String("k")})
	v1, err2 := r.s3.ListObjects(ctx, &s3.ListObjectsInput{Bucket: demo})
	v2, err3 := r.s3.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: demo})
	versions, err4 := r.s3.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: demo})
	uploads, err5 := r.s3.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: demo})
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]*string{
		"create upload": upload.Bucket, "list": v1.Name, "list v2": v2.Name, "versions": versions.Name, "uploads": uploads.Bucket,
	} {
		if aws.ToString(got) != "demo" {
			t.Errorf("%s: %q", name, aws.ToString(got))
		}
	}
}

// A page of any origin that was handed presigned URLs may upload.
func TestCrossOrigin(t *testing.T) {
	r := start(t, Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, r.URL()+"/demo/k", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "https://example.com")
	req.Header.Set("Access-Control-Request-Method", "PUT")
	req.Header.Set("Access-Control-Request-Headers", "x-amz-checksum-crc64nvme")
	a := r.do(req)
	if a.Status != http.StatusNoContent || a.Header.Get("Access-Control-Allow-Origin") != "*" ||
		a.Header.Get("Access-Control-Allow-Methods") != "PUT" || a.Header.Get("Access-Control-Allow-Headers") != "x-amz-checksum-crc64nvme" {
		t.Errorf("preflight: %d %v", a.Status, a.Header)
	}
	put := r.presigned("k", r.create("k", nil), 1, []byte("x"))
	put.Header.Set("Origin", "https://example.com")
	a = r.do(put)
	if a.Status != http.StatusOK || !strings.Contains(a.Header.Get("Access-Control-Expose-Headers"), "ETag") {
		t.Errorf("part: %d %v", a.Status, a.Header)
	}
}
