package s3presign

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// PresignForm signs an HTML form's upload of one object of at most maxSize bytes
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html).
// It is for those who cannot say beforehand how large the object will be: the
// store refuses what is larger. The form goes to address by POST as multipart/form-data,
// with all of form before the file, which is the last field and called "file". It must
// hold fields exactly as they are; they are properties of the object ("Content-Type",
// "x-amz-meta-…") or what the store is to answer ("success_action_status").
// notAfter is when the authority ends, by this machine's clock.
func (p *Presigner) PresignForm(ctx context.Context, bucket, key string, fields map[string]string, maxSize int64) (address string, form map[string]string, notAfter time.Time, err error) {
	if strings.Contains(key, "${filename}") {
		// The store would put in whatever name comes with the file.
		return "", nil, time.Time{}, fmt.Errorf("presign: the key %q holds ${filename}, which forms replace", key)
	}
	conditions := []any{[]any{"content-length-range", 0, maxSize}}
	for name, value := range fields {
		conditions = append(conditions, map[string]string{name: value})
	}
	_, life, err := p.life(ctx)
	if err != nil {
		return "", nil, time.Time{}, err
	}
	notAfter = time.Now().Add(life)
	signed, err := p.client.PresignPostObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key}, func(o *s3.PresignPostOptions) {
		o.Expires, o.Conditions = p.ttl, conditions
		o.PostPresigner = formSigner{o.PostPresigner, p.clock}
	})
	if err != nil {
		return "", nil, time.Time{}, fmt.Errorf("presign: %w", err)
	}
	form = maps.Clone(signed.Values)
	for name, value := range fields {
		if isReserved(form, name) {
			return "", nil, time.Time{}, fmt.Errorf("presign: the field %q is not the caller's to set", name)
		}
		form[name] = value
	}
	return signed.URL, form, notAfter, nil
}

// isReserved reports whether the field is the signature's or the form's own. The
// names of fields know no case.
func isReserved(form map[string]string, name string) bool {
	isName := func(own string) bool { return strings.EqualFold(own, name) }
	return slices.ContainsFunc([]string{"file", "bucket", "X-Amz-Security-Token"}, isName) ||
		slices.ContainsFunc(slices.Collect(maps.Keys(form)), isName)
}
