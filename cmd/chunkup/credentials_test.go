package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// R13 (https://github.com/aws/aws-cli/issues/4562): a script replaces the credentials
// file while the command is at work, and the store refuses the old key from then on.
func TestRotatedCredentials(t *testing.T) {
	home := isolate(t)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	path := filepath.Join(home, "credentials")
	write(t, path, "[default]\naws_access_key_id = OLDKEY\naws_secret_access_key = x\naws_session_token = t\n")
	const lanes = 2
	var rotated atomic.Bool
	var refused, late atomic.Int32
	f := newFake(t)
	f.on(func(w http.ResponseWriter, r *http.Request, op string) bool {
		if op == "part" && r.URL.Query().Get("partNumber") == "3" && rotated.CompareAndSwap(false, true) {
			write(t, path+".new", "[default]\naws_access_key_id = NEWKEY\naws_secret_access_key = y\naws_session_token = u\n")
			if err := os.Rename(path+".new", path); err != nil {
				t.Error(err)
			}
		}
		if !rotated.Load() || strings.HasPrefix(scope(asked{query: r.URL.Query(), header: r.Header}), "NEWKEY/") {
			return false
		}
		if refused.Add(1); len(f.of("complete")) > 0 {
			late.Add(1)
		}
		return refuse(w, http.StatusForbidden, "ExpiredToken")
	})
	f.cp(t, sparse(t, "big", 40<<20), "s3://bucket/key", "--provider", "minio", "--part-size", "5MiB", "-c", "2").want(t, exitOK)
	if n := refused.Load(); n < 1 || n > lanes || late.Load() != 0 {
		t.Errorf("%d requests were refused, %d of them late", n, late.Load())
	}
	for _, op := range []string{"complete"} {
		if s := scope(f.only(t, op)); !strings.HasPrefix(s, "NEWKEY/") {
			t.Errorf("%s was signed by %s", op, s)
		}
	}
}
