package journal

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chunkup/chunkup/chunker"
)

// maxParts bounds the number of parts of a plan: ten times what any known store
// takes, and little enough to make a table of.
const maxParts = 10 * chunker.MaxParts

// normalise makes times comparable and says what is wrong with a record, as an
// [*InvalidError]. It runs before a record is written and after one was read.
func (r *Record) normalise() error {
	times := []*time.Time{&r.Updated, &r.Started, &r.Source.Identity.ModTime, &r.Source.Identity.ChangeTime}
	for _, t := range times {
		*t = t.Round(0).UTC() // without the monotonic clock
		if y := t.Year(); y < 1 || y > 9999 {
			return invalid("time", "is of the year %d, which JSON cannot hold", y)
		}
	}
	for _, check := range []func() error{
		r.checkVersion, r.checkState, r.checkDestination, r.checkPlan, r.checkParts, r.checkText, r.checkSecrets,
	} {
		if err := check(); err != nil { // what comes after it may rely on it
			return err
		}
	}
	return nil
}

func (r *Record) checkVersion() error {
	if r.Version < 1 || r.Version > Version {
		return invalid("version", "is %d, not in 1..%d", r.Version, Version)
	}
	if r.PID < 0 {
		return invalid("pid", "is %d", r.PID)
	}
	return nil
}

func (r *Record) checkState() error {
	switch r.State {
	case Creating:
		if r.UploadID != "" {
			return invalid("upload id", "is known, but the state is %q", r.State)
		}
	case Uploading, Completing, Aborting:
		if r.UploadID == "" {
			return invalid("upload id", "is missing, but the state is %q", r.State)
		}
	case Orphaned:
	default:
		return invalid("state", "is %q, which is none", r.State)
	}
	if r.UploadID == "" && len(r.Parts) > 0 {
		return invalid("parts", "are of no upload")
	}
	if slices.Contains(r.Leftover, "") {
		return invalid("leftover", "has an empty id")
	}
	return nil
}

func (r *Record) checkDestination() error {
	u, err := url.Parse(r.Endpoint)
	switch {
	case err != nil: // err would repeat the password
		return invalid("endpoint", "is not a URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return invalid("endpoint", "has more than scheme and host, which may be secret")
	case r.Key == "":
		return invalid("key", "is empty")
	case r.Token == "" && r.State != Aborting && r.State != Orphaned:
		return invalid("token", "is empty, but the state is %q", r.State)
	}
	return nil
}

func (r *Record) checkPlan() error {
	path, id := r.Source.Path, r.Source.Identity
	switch {
	case path != "" && (!filepath.IsAbs(path) || strings.Contains(path, "\x00")):
		return invalid("source", "is not an absolute path")
	case r.Plan.Len() < 1 || r.Plan.Len() > maxParts:
		return invalid("plan", "of %d bytes in parts of %d has %d parts, not 1..%d", r.Plan.Size, r.Plan.PartSize, r.Plan.Len(), maxParts)
	case (path != "" || id != chunker.Identity{}) && id.Size != r.Plan.Size:
		return invalid("plan", "is of %d bytes, the source of %d", r.Plan.Size, id.Size)
	case r.Algorithm != chunker.None && r.Algorithm.Size() == 0:
		return invalid("algorithm", "is %s, which is none", r.Algorithm)
	}
	return nil
}

func (r *Record) checkParts() error {
	last, total := maxParts, int64(0)
	if !r.unplanned() {
		last = r.Plan.Len()
	}
	highest := 0
	for _, p := range r.Parts {
		highest = max(highest, p.Number)
	}
	seen := make([]bool, min(highest, last)+1) // last is within maxParts
	for _, p := range r.Parts {
		switch {
		case p.Number < 1 || p.Number > last:
			return invalid("parts", "have number %d, not in 1..%d", p.Number, last)
		case seen[p.Number]:
			return invalid("parts", "have number %d twice", p.Number)
		case p.Size < 0 || p.Size > math.MaxInt64-total:
			return invalid("parts", "have %d bytes in number %d", p.Size, p.Number)
		case !r.unplanned() && p.Size != r.Plan.Part(p.Number).Size:
			return invalid("parts", "have %d bytes in number %d, not the plan's %d", p.Size, p.Number, r.Plan.Part(p.Number).Size)
		case bare(p.ETag) == "":
			return invalid("parts", "have no ETag for number %d", p.Number)
		case !p.Digest.IsZero() && p.Digest.Algorithm() != r.Algorithm:
			return invalid("parts", "have a %s for number %d, not a %s", p.Digest.Algorithm(), p.Number, r.Algorithm)
		}
		seen[p.Number] = true
		total += p.Size
	}
	return nil
}

// checkText finds what would not come back from JSON as it was. The path, the
// command and the values of headers and metadata would: see [text].
func (r *Record) checkText() error {
	all := []string{r.Endpoint, r.Bucket, r.Key, r.Token, r.UploadID, r.Host}
	all = append(all, r.Leftover...)
	for id, key := range r.Keys {
		all = append(all, id, key)
	}
	all = slices.AppendSeq(all, maps.Keys(r.Header))
	all = slices.AppendSeq(all, maps.Keys(r.Metadata))
	if i := slices.IndexFunc(all, func(s string) bool { return !utf8.ValidString(s) }); i >= 0 {
		return invalid("text", "%q is not UTF-8", all[i])
	}
	if i := slices.IndexFunc(r.Parts, func(p Part) bool { return !utf8.ValidString(p.ETag) }); i >= 0 {
		return invalid("text", "%q is not UTF-8", r.Parts[i].ETag)
	}
	return nil
}

func (r *Record) checkSecrets() error {
	for name := range r.Header {
		if Secret(name) {
			return invalid("header", "%s carries a key, which no journal keeps", name)
		}
	}
	return nil
}

func invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// Secret reports whether the header of that name, in upper or lower case,
// carries a key, a credential or what tells about one. Such headers are not for
// a journal; who resumes gives them again.
func Secret(header string) bool {
	h := strings.ToLower(header)
	switch h {
	case "authorization", "proxy-authorization", "cookie", "x-amz-security-token", "x-amz-s3session-token",
		"x-goog-encryption-key", "x-goog-encryption-key-sha256":
		return true
	}
	// The key and its MD5, of the object itself and of the source of a copy:
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/ServerSideEncryptionCustomerKeys.html
	key := "server-side-encryption-customer-key"
	return strings.HasSuffix(h, key) || strings.HasSuffix(h, key+"-md5")
}
