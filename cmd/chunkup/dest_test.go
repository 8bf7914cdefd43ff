package main

import (
	"strings"
	"testing"
)

func TestParseDestination(t *testing.T) {
	for text, want := range map[string]destination{
		"s3://bucket/key":          {"s3", "bucket", "key"},
		"s3://bucket/a/b c?d#e%2F": {"s3", "bucket", "a/b c?d#e%2F"},
		"s3://bucket/prefix/":      {"s3", "bucket", "prefix/"},
		"s3://bucket/":             {"s3", "bucket", ""},
		"s3://bucket":              {"s3", "bucket", ""},
		"s3://bucket//key":         {"s3", "bucket", "/key"},
		"s3://my.bucket-1/k":       {"s3", "my.bucket-1", "k"},
		"s3://b/k":                 {"s3", "b", "k"},
		"sandbox://demo/big":       {"sandbox", "demo", "big"},
	} {
		got, err := parseDestination(text)
		if err != nil || got != want {
			t.Errorf("parseDestination(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "big", "/tmp/big", "s3:", "s3:/bucket/key", "s3://", "s3:///key", "S3://bucket/key", "gs://bucket/key",
		"http://bucket/key", "s3://buc ket/key", "s3://-bucket/key", "s3://bucket?x/key", "s3://bücket/key",
	} {
		got, err := parseDestination(text)
		if exitCode(err) != exitUsage {
			t.Errorf("parseDestination(%q) = %+v, %v, want a usage error", text, got, err)
		}
	}
}

func TestKeyOf(t *testing.T) {
	for _, c := range []struct{ dest, source, under, want, template string }{
		{"s3://bucket/key", "dir/big.iso", "big.iso", "key", "key"},
		{"s3://bucket/prefix/", "dir/big.iso", "big.iso", "prefix/big.iso", "prefix/big.iso"},
		{"s3://bucket", "./big.iso", "big.iso", "big.iso", "big.iso"},
		{"s3://bucket/a/b/", "/tmp/x y", "x y", "a/b/x y", "a/b/x y"},
		{"s3://bucket/p/", "/tmp/dir/sub/x", "sub/x", "p/sub/x", "p/sub/x"},
		{"s3://bucket/{ext}/", "dir/sub/{name}.c", "sub/{name}.c", "c/sub/{name}.c", "{ext}/sub/{lbrace}name}.c"},
		{"s3://bucket/flat-{name}", "dir/sub/x", "sub/x", "flat-x", "flat-{name}"},
	} {
		d, err := parseDestination(c.dest)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.keyOf(c.source, c.under, ""); err != nil || got != c.want {
			t.Errorf("%s of %s: key %q, %v, want %q", c.source, c.dest, got, err, c.want)
		}
		if got := d.template(c.under); got != c.template {
			t.Errorf("%s of %s: template %q, want %q", c.source, c.dest, got, c.template)
		}
	}
	for _, key := range []string{strings.Repeat("k", 1025), "\xff"} {
		if got, err := (destination{"s3", "bucket", key}).keyOf("big", "big", ""); exitCode(err) != exitUsage {
			t.Errorf("key %q, %v, want a usage error", got, err)
		}
	}
	if got, err := (destination{"s3", "bucket", strings.Repeat("k", 1024)}).keyOf("big", "big", ""); err != nil || len(got) != 1024 {
		t.Errorf("a key of 1024 bytes is refused: %v", err)
	}
}

func TestShow(t *testing.T) {
	for name, want := range map[string]string{"a b": "a b", "": `""`, "a\nb": `"a\nb"`, "\x1b[2J": `"\x1b[2J"`, "ü": "ü", "\xff": `"\xff"`} {
		if got := show(name); got != want {
			t.Errorf("show(%q) = %s, want %s", name, got, want)
		}
	}
}

// Whatever is accepted is written back as it was.
func FuzzParseDestination(f *testing.F) {
	f.Add("s3://bucket/key")
	f.Add("sandbox://demo/a//b/")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDestination(text)
		if err != nil {
			return
		}
		if got := d.address(d.key); got != text && got != text+"/" {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
