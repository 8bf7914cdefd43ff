package main

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

func TestEndpoint(t *testing.T) {
	home := isolate(t)
	source := file(t, "big", "content")
	const wrong = "http://127.0.0.1:1"
	for _, c := range []struct{ name, flag, own, s3, aws, file string }{
		{"flag", "right", wrong, wrong, wrong, wrong},
		{"own variable", "", "right", wrong, wrong, wrong},
		{"S3's variable", "", "", "right", wrong, wrong},
		{"AWS's variable", "", "", "", "right", wrong},
		{"AWS file", "", "", "", "", "right"},
	} {
		f := newFake(t)
		url := func(s string) string { return strings.Replace(s, "right", f.URL, 1) }
		t.Setenv("AWS_ENDPOINT_URL_S3", url(c.s3))
		t.Setenv("AWS_ENDPOINT_URL", url(c.aws))
		if c.aws == "" {
			os.Unsetenv("AWS_ENDPOINT_URL") // set to nothing, it hides the file
		}
		write(t, filepath.Join(home, "config"), "[default]\nendpoint_url = "+url(c.file)+"\n")
		args := []string{"cp", source, "s3://bucket/key", "--max-attempts", "1"}
		if c.flag != "" {
			args = append(args, "--endpoint-url", url(c.flag))
		}
		r := world{variables: map[string]string{"CHUNKUP_ENDPOINT_URL": url(c.own)}}.run(t, args...)
		if r.code != exitOK || len(f.of("put")) != 1 {
			t.Errorf("%s: exit code %d, %s", c.name, r.code, r.stderr)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", "example.com")
	world{}.run(t, "cp", source, "s3://bucket/key").want(t, exitUsage).oneLine(t, "the endpoint of the AWS environment or files: it is not an address")
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRegionAndProfile(t *testing.T) {
	home := isolate(t)
	write(t, filepath.Join(home, "credentials"), "[work]\naws_access_key_id = AKIDWORK\naws_secret_access_key = x\n")
	write(t, filepath.Join(home, "config"), "[profile work]\nregion = eu-north-1\n")
	source := file(t, "big", "content")
	for _, c := range []struct {
		args, region, want string
	}{
		{"", "", "AKIDTEST/*/us-east-1/"},
		{"", "eu-west-3", "AKIDTEST/*/eu-west-3/"},
		{"--region eu-west-1", "eu-west-3", "AKIDTEST/*/eu-west-1/"},
		{"--profile work", "", "AKIDWORK/*/eu-north-1/"},
	} {
		f := newFake(t)
		t.Setenv("AWS_REGION", c.region)
		f.cp(t, append(strings.Fields(c.args), source, "s3://bucket/key")...).want(t, exitOK)
		got := strings.Split(scope(f.only(t, "put")), "/")
		if len(got) < 3 || got[0]+"/*/"+got[2]+"/" != c.want {
			t.Errorf("%q with AWS_REGION=%s: signed for %v, want %s", c.args, c.region, got, c.want)
		}
	}
	t.Setenv("AWS_REGION", "")
	f := newFake(t)
	f.cp(t, source, "s3://bucket/key", "--profile", "nobody").want(t, exitUsage).oneLine(t, "nobody")
	f.cp(t, source, "s3://bucket/key", "--provider", "aws").want(t, exitUsage).oneLine(t, "--region")
	if len(f.requests) != 0 {
		t.Errorf("the store got %d requests", len(f.requests))
	}
}

func TestProvider(t *testing.T) {
	isolate(t)
	source := file(t, "big", "content")
	const crc, md5 = "X-Amz-Checksum-Crc64nvme", "Content-Md5"
	for _, c := range []struct{ server, provider, want string }{
		{"AcmeStore", "", md5},
		{"VERSITYGW", "", crc},
		{"MinIO", "", crc},
		{"VERSITYGW", "generic", md5},
		{"AcmeStore", "minio", crc},
	} {
		f := newFake(t)
		f.name = c.server
		args := []string{source, "s3://bucket/key"}
		if c.provider != "" {
			args = append(args, "--provider", c.provider)
		}
		f.cp(t, args...).want(t, exitOK)
		if f.only(t, "put").header.Get(c.want) == "" {
			t.Errorf("server %s, provider %q: no %s", c.server, c.provider, c.want)
		}
		if probed := len(f.of("probe")) > 0; probed != (c.provider == "") {
			t.Errorf("server %s, provider %q: probed %v", c.server, c.provider, probed)
		}
	}
}

func TestChecksumAlgorithm(t *testing.T) {
	isolate(t)
	source := file(t, "big", "content")
	for _, c := range []struct{ provider, algorithm, part, declared, kind string }{
		{"minio", "auto", "X-Amz-Checksum-Crc64nvme", "CRC64NVME", "FULL_OBJECT"},
		{"minio", "crc32c", "X-Amz-Checksum-Crc32c", "CRC32C", "FULL_OBJECT"},
		{"minio", "crc32", "X-Amz-Checksum-Crc32", "CRC32", "FULL_OBJECT"},
		{"minio", "sha256", "X-Amz-Checksum-Sha256", "SHA256", "COMPOSITE"},
		{"minio", "md5", "Content-Md5", "", ""},
		{"minio", "none", "", "", ""},
		{"generic", "auto", "Content-Md5", "", ""},
		{"generic", "crc64nvme", "X-Amz-Checksum-Crc64nvme", "CRC64NVME", "FULL_OBJECT"},
		{"generic", "crc32c", "X-Amz-Checksum-Crc32c", "CRC32C", "COMPOSITE"},
	} {
		f := newFake(t)
		f.cp(t, source, "s3://bucket/key", "--multipart-threshold", "0", "--provider", c.provider,
			"--checksum-algorithm", c.algorithm).want(t, exitOK)
		part, create := f.only(t, "part").header, f.only(t, "create").header
		var got []string
		for name := range part {
			if strings.HasPrefix(name, "X-Amz-Checksum-") || name == "Content-Md5" {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != c.part {
			t.Errorf("%s, %s: the part carries %v, want %q", c.provider, c.algorithm, got, c.part)
		}
		if a, k := create.Get("X-Amz-Checksum-Algorithm"), create.Get("X-Amz-Checksum-Type"); a != c.declared || k != c.kind {
			t.Errorf("%s, %s: declared %q %q, want %q %q", c.provider, c.algorithm, a, k, c.declared, c.kind)
		}
	}
}

func TestAddressing(t *testing.T) {
	cfg := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}
	for _, c := range []struct{ provider, args, want string }{
		{"aws", "", "https://bucket.store.example/key?"},
		{"minio", "", "https://store.example/bucket/key?"},
		{"aws", "--addressing path", "https://store.example/bucket/key?"},
		{"minio", "--addressing virtual", "https://bucket.store.example/key?"},
		{"minio", "--addressing auto", "https://store.example/bucket/key?"},
	} {
		f, _, err := parse(t, strings.Fields(c.args)...)
		if err != nil {
			t.Fatal(err)
		}
		p, err := s3store.ByName(c.provider)
		if err != nil {
			t.Fatal(err)
		}
		f.store.apply(&p)
		conn := assemble(&f.tuning, cfg, p, "https://store.example", wire.NewClient(wire.Options{}), func(string, breaker.State, breaker.State) {})
		request, err := conn.provider.Presign(t.Context(), presign.Part{Bucket: "bucket", Key: "key", Size: 1})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(request.URL, c.want) {
			t.Errorf("%s %s: %s, want %s", c.provider, c.args, request.URL, c.want)
		}
	}
}

func TestTLS(t *testing.T) {
	home := isolate(t)
	source := file(t, "big", "content")
	f := newTLSFake(t)
	ca := filepath.Join(home, "ca.pem")
	write(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})))

	f.cp(t, source, "s3://bucket/key").want(t, exitFailed).oneLine(t, "unknown authority")
	if len(f.requests) != 0 {
		t.Errorf("a store that nobody knows got %d requests", len(f.requests))
	}
	f.cp(t, source, "s3://bucket/key", "--ca-bundle", ca).want(t, exitOK)
	f.cp(t, source, "s3://bucket/key", "--no-verify-ssl").want(t, exitOK)
	f.cp(t, source, "s3://bucket/key", "--ca-bundle", filepath.Join(home, "none")).want(t, exitUsage).oneLine(t, "--ca-bundle", "none")
	f.cp(t, source, "s3://bucket/key", "--ca-bundle", source).want(t, exitUsage).oneLine(t, "PEM")
	t.Setenv("AWS_CA_BUNDLE", ca)
	f.cp(t, source, "s3://bucket/key").want(t, exitOK)
}

func TestCredentials(t *testing.T) {
	home := isolate(t)
	source := file(t, "big", "content")
	f := newFake(t)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	f.cp(t, source, "s3://bucket/key").want(t, exitDenied).oneLine(t, "AWS_ACCESS_KEY_ID", "--profile")
	write(t, filepath.Join(home, "config"), "[profile tool]\ncredential_process = false\n")
	f.cp(t, source, "s3://bucket/key", "--profile", "tool").want(t, exitDenied).oneLine(t, "no usable credentials", "process")
	if len(f.requests) != 0 {
		t.Errorf("the store got %d requests", len(f.requests))
	}
}

func TestRefusals(t *testing.T) {
	isolate(t)
	source := file(t, "big", "content")
	for _, c := range []struct {
		name   string
		op     string
		status int
		code   string
		exit   int
		says   string
	}{
		{"wrong key", "create", 403, "InvalidAccessKeyId", exitDenied, "create upload of s3://bucket/key: status 403 InvalidAccessKeyId: no"},
		{"wrong signature", "part", 403, "SignatureDoesNotMatch", exitDenied, "upload part 1 of s3://bucket/key"},
		{"no such bucket", "create", 404, "NoSuchBucket", exitFailed, "NoSuchBucket"},
		{"bad digest", "part", 400, "BadDigest", exitIntegrity, "BadDigest"},
		{"server error", "create", 500, "InternalError", exitFailed, "gave up after 2 attempts"},
		{"lost completion", "complete", 500, "InternalError", exitUnknown, "may or may not have the object"},
	} {
		f := newFake(t)
		f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
			if c.exit == exitUnknown && op == "head" {
				return refuse(w, http.StatusForbidden, "")
			}
			return op == c.op && refuse(w, c.status, c.code)
		})
		f.cp(t, source, "s3://bucket/key", "--multipart-threshold", "0", "--max-attempts", "2", "--backoff-base", "1ms").
			want(t, c.exit).oneLine(t, c.says)
	}
}

// Where the store is known to take it, the many files of a folder are signed for in the
// head, which it reads faster than a presigned URL; once it is known how the bucket's
// requests look.
func TestSmallFilesAreSignedInTheHead(t *testing.T) {
	isolate(t)
	const files = 20
	var paths []string
	for n := range files {
		paths = append(paths, fmt.Sprintf("file-%02d", n))
	}
	folder := tree(t, paths...)
	for provider, least := range map[string]int{
		"minio": files - 4, // two were there before the first two were known, and two more may have been
		"aws":   0, "generic": 0,
	} {
		f := newFake(t)
		f.cp(t, "-r", "--provider", provider, "--region", "us-east-1", "--addressing", "path", folder, "s3://bucket/", "-c", "2").want(t, exitOK)
		var heads int
		for _, put := range f.of("put") {
			inHead, inURL := put.header.Get("Authorization") != "", put.query.Has("X-Amz-Signature")
			if inHead == inURL {
				t.Errorf("%s: in the head: %t, in the URL: %t", put.path, inHead, inURL)
			}
			if inHead {
				heads++
			}
		}
		if heads < least || least == 0 && heads > 0 {
			t.Errorf("%s: %d of %d in the head", provider, heads, files)
		}
	}
}
