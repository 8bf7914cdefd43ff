package s3presign_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// What a form says, and what its policy demands of it, is pinned.
func TestPresignForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock says 2000-01-01 00:00 UTC
		p := s3presign.New(client(credentials.NewStaticCredentialsProvider("AK", "SK", "TOKEN")), time.Hour)
		p.Learn(time.Now().Add(-20*time.Minute - time.Second/2))
		fields := map[string]string{"Content-Type": "text/plain", "x-amz-meta-a": "b"}
		address, form, notAfter, err := p.PresignForm(t.Context(), "b", "a/k ü", fields, 1000)
		if err != nil || address != "http://127.0.0.1:9000/b" || time.Until(notAfter) != time.Hour {
			t.Errorf("%s, until %v, %v", address, notAfter, err)
		}
		policy, signature := form["policy"], form["X-Amz-Signature"]
		delete(form, "policy")
		delete(form, "X-Amz-Signature")
		if diff := cmp.Diff(map[string]string{
			"key": "a/k ü", "Content-Type": "text/plain", "x-amz-meta-a": "b", "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
			"X-Amz-Credential": "AK/19991231/us-east-1/s3/aws4_request", "X-Amz-Date": "19991231T234000Z", "X-Amz-Security-Token": "TOKEN",
		}, form); diff != "" || len(signature) != 64 {
			t.Errorf("signature %q, form (-want +got):\n%s", signature, diff)
		}
		demands, expiration := policyOf(t, policy)
		want := map[string]string{"bucket": "b", "content-length-range": "[0,1000]"}
		maps.Copy(want, form)
		if diff := cmp.Diff(want, demands); diff != "" || expiration != "2000-01-01T00:40:00Z" {
			t.Errorf("expires %s, policy (-want +got):\n%s", expiration, diff)
		}
	})
}

// policyOf lists what a policy demands: the field, or the range, and its value.
func policyOf(t *testing.T, policy string) (demands map[string]string, expiration string) {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(policy)
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Expiration string
		Conditions []json.RawMessage
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	demands = map[string]string{}
	for _, c := range p.Conditions {
		var exact map[string]string
		if json.Unmarshal(c, &exact) == nil {
			maps.Copy(demands, exact)
			continue
		}
		demands["content-length-range"] += "[" + strings.TrimPrefix(string(c), `["content-length-range",`)
	}
	return demands, p.Expiration
}

func TestPresignFormRefuses(t *testing.T) {
	creds := &temporary{expires: time.Now().Add(5 * time.Minute)}
	p := s3presign.New(client(aws.NewCredentialsCache(creds)), time.Hour)
	if _, _, notAfter, err := p.PresignForm(t.Context(), "b", "k", nil, 1); err != nil || time.Until(notAfter) > 5*time.Minute {
		t.Errorf("lives for %v; %v", time.Until(notAfter), err)
	}
	if _, _, _, err := p.PresignForm(t.Context(), "b", "k/${filename}", nil, 1); err == nil || !strings.Contains(err.Error(), "${filename}") {
		t.Errorf("err = %v", err)
	}
	for _, name := range []string{"KEY", "policy", "x-amz-signature", "x-amz-security-token", "Bucket", "file"} {
		if _, form, _, err := p.PresignForm(t.Context(), "b", "k", map[string]string{name: "x"}, 1); err == nil {
			t.Errorf("%s is allowed: %v", name, form)
		}
	}
	creds.err = errors.New("no metadata service")
	p.Renew(t.Context())
	if _, _, _, err := p.PresignForm(t.Context(), "b", "k", nil, 1); !errors.Is(err, creds.err) || !errors.Is(err, presign.ErrCredentials) {
		t.Errorf("err = %v", err)
	}
}
