package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// amazon is a fake store behind a proxy that takes it for all of Amazon.
type amazon struct {
	*fake
	proxy string
	ca    string // file with the certificate that it shows
}

func newAmazon(t *testing.T, regions ...string) *amazon {
	t.Helper()
	var names []string
	for _, r := range regions {
		names = append(names, "*.s3."+r+".amazonaws.com")
	}
	cert, ca := selfSigned(t, names)
	f := unstartedFake(t)
	f.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	f.StartTLS()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "this proxy only tunnels", http.StatusBadRequest)
			return
		}
		tunnel(t, w, f.Listener.Addr().String())
	}))
	t.Cleanup(proxy.Close)
	return &amazon{fake: f, proxy: proxy.URL, ca: ca}
}

func tunnel(t *testing.T, w http.ResponseWriter, to string) {
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		client.Close()
		return
	}
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(server, client); server.Close() }()
	_, _ = io.Copy(client, server)
	client.Close()
}

func selfSigned(t *testing.T, names []string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		file(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
}

// cp runs chunkup cp in a process of its own, since the proxy of one is fixed.
func (a *amazon) cp(t *testing.T, variables []string, args ...string) ran {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "chunkup", append([]string{"cp", "--ca-bundle", a.ca}, args...)...)
	cmd.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH"), "HTTPS_PROXY=" + a.proxy}, awsEnvironment(t.TempDir()), variables)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// On AWS the bucket's region is asked for, unless it is given.
func TestBucketRegion(t *testing.T) {
	source := file(t, "big", "content")
	for _, c := range []struct {
		name     string
		variable string // AWS_REGION
		args     string
		answer   string // the bucket's region, empty if AWS does not say
		asked    string // where
		sent     string // to which region
		exit     int
	}{
		{"asked", "", "", "eu-central-1", "us-east-1", "eu-central-1", exitOK},
		{"asked in the configured region's partition", "eu-west-1", "", "eu-central-1", "eu-west-1", "eu-central-1", exitOK},
		{"given", "eu-west-1", "--region us-east-1", "eu-central-1", "", "us-east-1", exitOK},
		{"not told, but configured", "eu-west-1", "", "", "eu-west-1", "eu-west-1", exitOK},
		{"not told", "", "", "", "us-east-1", "", exitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAmazon(t, "us-east-1", "eu-central-1", "eu-west-1")
			a.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
				if op == "probe" && c.answer != "" {
					w.Header().Set("X-Amz-Bucket-Region", c.answer)
				} else if op == "probe" {
					w.WriteHeader(http.StatusNotFound)
				}
				return op == "probe"
			})
			args := append([]string{source, "s3://bucket/"}, strings.Fields(c.args)...)
			r := a.cp(t, []string{"AWS_REGION=" + c.variable}, args...).want(t, c.exit)
			if c.exit != exitOK {
				r.oneLine(t, "the region of bucket bucket cannot be found, set --region")
			}
			var asked, sent string
			for _, p := range a.of("probe") {
				asked = region(p.host)
			}
			for _, p := range a.of("put") {
				sent = region(p.host)
				if !strings.Contains(scope(p), "/"+c.sent+"/s3/") {
					t.Errorf("signed for %s", scope(p))
				}
			}
			if asked != c.asked || sent != c.sent {
				t.Errorf("asked in %q and sent to %q, want %q and %q", asked, sent, c.asked, c.sent)
			}
		})
	}
}

// region is that of a host bucket.s3.region.amazonaws.com.
func region(host string) string {
	_, rest, _ := strings.Cut(host, "bucket.s3.")
	r, _, _ := strings.Cut(rest, ".")
	return r
}
