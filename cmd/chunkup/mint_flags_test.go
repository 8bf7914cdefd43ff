package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keyFile writes the key of a certificate.
func keyFile(t *testing.T, c tls.Certificate) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}

// What is wrong is said in one sentence, before anybody is asked or served. The store
// and the credentials are such that to ask would fail otherwise.
func TestMintUsage(t *testing.T) {
	isolate(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	tokens, bad, short := file(t, "tokens", "s3kret"), file(t, "bad", "s3kret prefix=x max-size=s3kret"), file(t, "short", "s3kret")
	empty := file(t, "empty", "# nobody\n\n")
	_, ca := selfSigned(t, []string{"localhost"})
	for _, c := range []struct{ args, says string }{
		{"--token-file " + tokens, "--bucket"},
		{"--bucket b --token-file " + tokens + " extra", `unknown command "extra"`},
		{"--bucket _ --token-file " + tokens, "cannot name a bucket"},
		{"--bucket b", "--token-file or --ticket-secret-file (or --no-auth"},
		{"--bucket b --token-file " + tokens + "none", "--token-file: stat"},
		{"--bucket b --token-file " + bad, "bad: line 1: max-size="},
		{"--bucket b --token-file " + empty, "has no token"},
		{"--bucket b --ticket-secret-file " + short, "has 6 bytes: at least 32 are needed"},
		{"--bucket b --ticket-secret-file " + short + "none", "--ticket-secret-file: stat"},
		{"--bucket b --no-auth --token-file " + tokens, "--no-auth makes no sense with --token-file"},
		{"--bucket b --no-auth --listen :0", "--no-auth is for this machine only, and :0 is no address of its own"},
		{"--bucket b --no-auth --listen 192.0.2.1:80", "--no-auth is for this machine only"},
		{"--bucket b --no-auth --listen localhost", `"localhost" is not an address`},
		{"--bucket b --no-auth --tls-cert " + ca, "--tls-cert and --tls-key need each other"},
		{"--bucket b --no-auth --tls-cert " + ca + " --tls-key " + tokens, "--tls-cert and --tls-key: tls:"},
		{"--bucket b --no-auth --choose-keys", "--choose-keys needs a --prefix"},
		{"--bucket b --no-auth --prefix /x", "an element that is empty"},
		{"--bucket b --no-auth --prefix a/../b", "an element that is empty, a dot or two dots"},
		{"--bucket b --no-auth --prefix a//", "an element that is empty"},
		{`--bucket b --no-auth --prefix a\b`, "characters that keys had better not have"},
		{"--bucket b --no-auth --cors-origin example.com", "--cors-origin"},
		{"--bucket b --no-auth --cors-origin https://example.com/x", "--cors-origin"},
		{"--bucket b --no-auth --url-ttl 1ms", "from 1s to 168h"},
		{"--bucket b --no-auth --url-ttl 169h", "from 1s to 168h"},
		{"--bucket b --no-auth --max-size 0", "above zero"},
		{"--bucket b --no-auth --max-parts -1", "at least 0"},
		{"--bucket b --no-auth --max-open 0", "at least 1"},
		{"--bucket b --no-auth --rate 0", "above zero"},
		{"--bucket b --no-auth --upload-lifetime 0", "longer than zero"},
		{"--bucket b --no-auth --metrics-addr :1", "unknown flag: --metrics-addr"},
		{"--bucket b --no-auth --sandbox-dir x", "unknown flag: --sandbox-dir"},
	} {
		r := world{}.run(t, append([]string{"mint"}, strings.Fields(c.args)...)...).want(t, exitUsage)
		r.oneLine(t, c.says)
		if strings.Contains(r.stderr, "s3kret") || r.stdout != "" {
			t.Errorf("%s: %q %q", c.args, r.stdout, r.stderr)
		}
	}
	world{}.run(t, "mint", "--bucket", "b", "--no-auth", "--endpoint-url", "http://127.0.0.1:1").want(t, exitDenied).oneLine(t, "credentials")
}

// A port that is taken, and a state that cannot be used.
func TestMintCannotStart(t *testing.T) {
	isolate(t)
	f, state := newFake(t), t.TempDir()
	args := []string{"mint", "--bucket", "bucket", "--no-auth", "--endpoint-url", f.URL, "--provider", "minio", "--state-dir", state}
	world{}.run(t, append(args, "--listen", f.Listener.Addr().String())...).want(t, exitFailed).oneLine(t, "mint: ", "address already in use")
	found, _ := filepath.Glob(filepath.Join(state, "mint", "*", "secret"))
	if len(found) != 1 {
		t.Fatalf("secrets: %v", found)
	}
	secret := found[0]
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 2*secretSize {
		t.Errorf("%v, %v", info, err)
	}
	write(t, secret, "c0ffee")
	world{}.run(t, append(args, "--listen", "127.0.0.1:0")...).want(t, exitFailed).oneLine(t, "is not the secret that was kept there")
	world{}.run(t, append(args, "--listen", "127.0.0.1:0", "--state-dir", secret)...).want(t, exitUsage).oneLine(t, "--state-dir")
	if len(f.requests) != 0 {
		t.Errorf("the store got %d requests", len(f.requests))
	}
}

// Without a home folder the service says what it cannot do.
func TestMintWithoutHome(t *testing.T) {
	var f mintFlags
	t.Setenv("HOME", "")
	s, warning, err := f.openMintState(func(string) string { return "" }, "")
	if err != nil || warning == nil || len(s.secret) != secretSize || s.close() != nil {
		t.Errorf("%v, %v, %v", s, warning, err)
	}
}
