package main

import (
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// objectFlags are the properties that every object of the command gets.
type objectFlags struct {
	contentType string // empty: guessed
	headers     http.Header
	metadata    pairs
	tags        pairs
	noOverwrite bool
}

// objectHeaders are the flags that become one header as they are.
var objectHeaders = []struct{ flag, header, usage string }{
	{"cache-control", "Cache-Control", "how caches may keep the object"},
	{"content-disposition", "Content-Disposition", "how browsers present the object"},
	{"content-encoding", "Content-Encoding", "how the content is encoded, such as gzip"},
	{"content-language", "Content-Language", "the language of the content"},
	{"acl", "X-Amz-Acl", "canned ACL, such as private or public-read"},
	{"storage-class", "X-Amz-Storage-Class", "storage class, such as STANDARD_IA"},
	{"sse", "X-Amz-Server-Side-Encryption", "encryption at the store: AES256, aws:kms or aws:kms:dsse"},
	{"sse-kms-key-id", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id", "the key for --sse aws:kms"},
}

func (o *objectFlags) define(set *pflag.FlagSet) {
	o.headers = http.Header{}
	o.metadata.check, o.tags.check = checkMetadata, checkTag
	define(set, &o.contentType, label{"content-type", "", "", "TYPE", "type of the content; guessed from the file's extension when not given"}, headerText)
	for _, h := range objectHeaders {
		set.Var(&headerFlag{o.headers, h.header, headerText}, h.flag, h.usage)
	}
	set.Var(&headerFlag{o.headers, "Expires", httpDate}, "expires", "when caches should drop it: 2027-01-31T12:00:00Z, or as HTTP spells dates")
	set.Var(&o.metadata, "metadata", "the object's own metadata; repeats")
	set.Var(&o.tags, "tag", "object tag; repeats")
	set.BoolVar(&o.noOverwrite, "no-overwrite", false, "create only: an object that is there already stays; with the same bytes it is a success that sends nothing")
}

// header returns the properties of the object made from source.
func (o *objectFlags) header(source string) http.Header {
	h := maps.Clone(o.headers)
	h.Set("Content-Type", o.contentType)
	if o.contentType == "" {
		h.Set("Content-Type", contentType(source))
	}
	if len(o.tags.list) > 0 {
		h.Set("X-Amz-Tagging", o.tagging())
	}
	return h
}

// tagging spells the tags as a query. Not every store reads + as a space.
func (o *objectFlags) tagging() string {
	tags := url.Values{}
	for _, t := range o.tags.list {
		tags.Set(t[0], t[1])
	}
	return strings.ReplaceAll(tags.Encode(), "+", "%20")
}

// userMetadata returns the metadata; of two values of a key the last counts.
func (o *objectFlags) userMetadata() map[string]string {
	m := map[string]string{}
	for _, p := range o.metadata.list {
		m[strings.ToLower(p[0])] = p[1]
	}
	return m
}

// check finds flags that contradict each other.
func (o *objectFlags) check() error {
	sse := o.headers.Get("X-Amz-Server-Side-Encryption")
	if o.headers.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id") != "" && !strings.HasPrefix(sse, "aws:kms") {
		return usagef("--sse-kms-key-id needs --sse aws:kms")
	}
	return nil
}

func contentType(source string) string {
	if t := mime.TypeByExtension(filepath.Ext(source)); t != "" {
		return t
	}
	return "application/octet-stream"
}

// headerFlag is a flag whose text becomes a header.
type headerFlag struct {
	to    http.Header
	name  string
	parse func(string) (string, error)
}

// Set implements pflag.Value.
func (f *headerFlag) Set(text string) error {
	v, err := f.parse(text)
	if err == nil {
		f.to.Set(f.name, v)
	}
	return err
}

// String implements pflag.Value.
func (f *headerFlag) String() string { return f.to.Get(f.name) }

// Type implements pflag.Value.
func (f *headerFlag) Type() string { return "VALUE" }

// headerText refuses what would break out of a header.
func headerText(text string) (string, error) {
	if text == "" {
		return "", errors.New("it is empty")
	}
	if i := strings.IndexFunc(text, isControl); i >= 0 {
		return "", fmt.Errorf("%q has a control character", text)
	}
	return text, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// httpDate reads a date and spells it as HTTP does.
func httpDate(text string) (string, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t, err = http.ParseTime(text)
	}
	if err != nil {
		return "", fmt.Errorf("%q is not a date such as 2027-01-31T12:00:00Z", text)
	}
	return t.UTC().Format(http.TimeFormat), nil
}

// tokenKey is the metadata by which chunkup knows its own objects.
const tokenKey = "chunkup-token"

func checkMetadata(key, value string) error {
	if strings.EqualFold(key, tokenKey) {
		return fmt.Errorf("the name %s is taken", tokenKey)
	}
	if i := strings.IndexFunc(key, func(r rune) bool { return !isTokenRune(r) }); i >= 0 {
		return fmt.Errorf("%q cannot be the name of a header: use letters, digits and hyphens", key)
	}
	if strings.ContainsFunc(value, isControl) {
		return fmt.Errorf("%q has a control character", value)
	}
	return nil
}

// isTokenRune tells what may be in the name of a header (RFC 9110, 5.6.2).
func isTokenRune(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

func checkTag(key, value string) error {
	if strings.ContainsFunc(key+value, isControl) {
		return fmt.Errorf("%q has a control character", key+"="+value)
	}
	return nil
}
