package main

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxKey is how long a key may be, in bytes
// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html).
const maxKey = 1024

const (
	schemeS3      = "s3"
	schemeSandbox = "sandbox"
)

// destination is where the sources go.
type destination struct {
	scheme string
	bucket string
	key    string // or a prefix: empty, or with a slash at its end
}

var (
	schemePattern = regexp.MustCompile(`(?s)^([a-z][a-z0-9]*)://(.*)$`)
	// Wider than S3's rule (3 to 63 characters), because other stores' are: which
	// names there can be is the store's to say.
	bucketPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$`)
)

// parseDestination reads s3://bucket/key, s3://bucket/prefix/, s3://bucket, and
// the same with sandbox://.
func parseDestination(text string) (destination, error) {
	m := schemePattern.FindStringSubmatch(text)
	if m == nil || m[1] != schemeS3 && m[1] != schemeSandbox {
		return destination{}, usagef("destination %s: use s3://bucket/key or sandbox://bucket/key, nothing else is supported", show(withoutSecrets(text)))
	}
	bucket, key, _ := strings.Cut(m[2], "/")
	if !bucketPattern.MatchString(bucket) {
		return destination{}, usagef("destination %s: %q cannot name a bucket", show(text), bucket)
	}
	return destination{scheme: m[1], bucket: bucket, key: key}, nil
}

// isPrefix tells whether the sources' names are put after it.
func (d destination) isPrefix() bool { return d.key == "" || strings.HasSuffix(d.key, "/") }

// holdsMany tells whether several sources have a key each.
func (d destination) holdsMany() bool {
	return d.isPrefix() || needs(d.key, holdSHA256) || needs(d.key, holdName)
}

// keyOf is the key of a source that was found at a path below a folder. Its SHA-256 is
// needed only where the key asks for it.
func (d destination) keyOf(source, under, sha256 string) (string, error) {
	key := fill(d.key, source, sha256)
	if d.isPrefix() {
		key += under
	}
	switch {
	case key == "" || strings.HasSuffix(key, "/"):
		return "", usagef("the key for %s would be %q, which is no name of an object", show(source), key)
	case len(key) > maxKey:
		return "", usagef("the key for %s has %d bytes: stores take at most %d", show(source), len(key), maxKey)
	case !utf8.ValidString(key):
		return "", usagef("the key for %s is not UTF-8, which stores want", show(source))
	}
	return key, nil
}

// template is the key that makes the same one for that source alone.
func (d destination) template(under string) string {
	if d.isPrefix() {
		return d.key + literal(under)
	}
	return d.key
}

// address is how the user would write the destination of a key.
func (d destination) address(key string) string { return d.scheme + "://" + d.bucket + "/" + key }

// show makes a name fit for a line of text.
func show(name string) string {
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
