package main

import (
	"strings"
	"testing"
)

// An address may have a password or a signature in it: what is refused is not repeated.
func TestRefusedAddressIsNotRepeated(t *testing.T) {
	isolate(t)
	source := file(t, "big", "content")
	for _, address := range []string{
		"http://u:sekret@h", "http://h/?X-Amz-Signature=sekret", "http://h#sekret", "sekret", "http://u:sekret@h:port", "ftp://u:sekret@h", "http://%sekret", "http://u:p@h/x?sekret",
	} {
		t.Setenv("AWS_ENDPOINT_URL_S3", address)
		for name, r := range map[string]ran{
			"flag":                 world{}.run(t, "cp", source, "s3://bucket/key", "--endpoint-url", address),
			"flag=":                world{}.run(t, "uploads", "ls", "s3://bucket", "--endpoint-url="+address),
			"CHUNKUP_ENDPOINT_URL": world{variables: map[string]string{"CHUNKUP_ENDPOINT_URL": address}}.run(t, "verify", source, "s3://bucket/key"),
			"AWS_ENDPOINT_URL_S3":  world{}.run(t, "cp", source, "s3://bucket/key"),
		} {
			r.want(t, exitUsage)
			if strings.Contains(r.stderr, "sekret") || !strings.Contains(strings.ToLower(r.stderr), "endpoint") {
				t.Errorf("%s, %s: standard error %q", name, address, r.stderr)
			}
		}
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	world{}.run(t, "cp", source, "s3://bucket/key", "--endpoint-url", "https://u:p@store.example/base?x=1").want(t, exitUsage).oneLine(t, "use https://store.example/base")
	r := world{}.run(t, "cp", source, "https://u:sekret@bucket.s3.amazonaws.com/key?X-Amz-Signature=sekret").want(t, exitUsage)
	if strings.Contains(r.stderr, "sekret") || !strings.Contains(r.stderr, "https://bucket.s3.amazonaws.com/key") {
		t.Errorf("standard error %q", r.stderr)
	}
}
