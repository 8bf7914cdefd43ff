package main

import (
	"maps"
	"net/http"
	"strings"
	"testing"
)

func TestObjectFlags(t *testing.T) {
	isolate(t)
	for _, c := range []struct{ args, header, want string }{
		{"--content-type text/x-own", "Content-Type", "text/x-own"},
		{"--cache-control no-store", "Cache-Control", "no-store"},
		{"--content-disposition inline", "Content-Disposition", "inline"},
		{"--content-encoding gzip", "Content-Encoding", "gzip"},
		{"--content-language de", "Content-Language", "de"},
		{"--expires 2027-01-31T13:00:00+01:00", "Expires", "Sun, 31 Jan 2027 12:00:00 GMT"},
		{"--metadata Colour=red=blue", "X-Amz-Meta-Colour", "red=blue"},
		{"--metadata a=1 --metadata b=2", "X-Amz-Meta-A", "1"},
		{"--metadata a=1 --metadata b=2", "X-Amz-Meta-B", "2"},
		{"--metadata a=1 --metadata A=2", "X-Amz-Meta-A", "2"},
		{"--tag k=v", "X-Amz-Tagging", "k=v"},
		{"--tag a&b=c%20d/é --tag x=", "X-Amz-Tagging", "a%26b=c%2520d%2F%C3%A9&x="},
		{"--acl public-read", "X-Amz-Acl", "public-read"},
		{"--storage-class GLACIER", "X-Amz-Storage-Class", "GLACIER"},
		{"--sse AES256", "X-Amz-Server-Side-Encryption", "AES256"},
		{"--sse aws:kms --sse-kms-key-id k1", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id", "k1"},
	} {
		for _, threshold := range []string{"0", "1MiB"} { // in parts, and in one PUT
			f := newFake(t)
			args := append(strings.Fields(c.args), file(t, "big", "content"), "s3://bucket/key", "--multipart-threshold", threshold)
			f.cp(t, args...).want(t, exitOK)
			for _, a := range append(f.of("create"), f.of("put")...) {
				if got := a.header.Get(c.header); got != c.want {
					t.Errorf("%s, %s: %s is %q, want %q", c.args, a.op, c.header, got, c.want)
				}
			}
		}
	}
}

func TestContentTypeIsGuessed(t *testing.T) {
	isolate(t)
	for name, want := range map[string]string{"a.png": "image/png", "a.unknown-ext": "application/octet-stream", "a": "application/octet-stream"} {
		f := newFake(t)
		f.cp(t, file(t, name, "content"), "s3://bucket/").want(t, exitOK)
		if got := f.only(t, "put").header.Get("Content-Type"); got != want {
			t.Errorf("%s: content type %q, want %q", name, got, want)
		}
	}
}

// The names of metadata are the same in upper and lower case.
func TestMetadataNames(t *testing.T) {
	f, _, err := parse(t, "--metadata", "a=1", "--metadata", "A=2")
	if got := f.object.userMetadata(); err != nil || !maps.Equal(got, map[string]string{"a": "2"}) {
		t.Errorf("metadata %v, %v", got, err)
	}
}

func TestTaggingHasNoPlus(t *testing.T) {
	o := objectFlags{headers: http.Header{}, tags: pairs{check: checkTag}}
	if err := o.tags.Set("a b=c+d"); err != nil {
		t.Fatal(err)
	}
	if got := o.header("x").Get("X-Amz-Tagging"); got != "a%20b=c%2Bd" {
		t.Errorf("tagging is %q", got)
	}
}
