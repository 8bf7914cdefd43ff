package main

import (
	"debug/buildinfo"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/cmd/chunkup/sandbox"
	"github.com/chunkup/chunkup/integration/minio"
)

// Stores that count nothing are asked what they have.
func TestStored(t *testing.T) {
	g, err := sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir(), AccessKey: accessKey, SecretKey: secretKey, Buckets: []string{bucket}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s := &store{url: g.URL()}
	client := s.client(http.DefaultClient)
	for key, size := range map[string]int{"folder/a": 3, "folder/b": 4} {
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: strings.NewReader(strings.Repeat("x", size))}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.stored(t.Context()); n != 7 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	for size, want := range map[int64]string{7: "", 6: "the store has 7 of 6 bytes"} {
		m, err := (&lab{}).count(t.Context(), measurement{Stored: size}, s, time.Now())
		if err != nil || m.Failed != want && (want == "" || !strings.Contains(m.Failed, want)) {
			t.Errorf("%d bytes: %+v, %v", size, m, err)
		}
	}
}

// What was measured is told.
func TestVersions(t *testing.T) {
	if _, err := os.Stat("../../.git"); err == nil { // in an archive there is none to tell
		if c := commit(t.Context()); len(strings.TrimSuffix(c, "+")) < 7 {
			t.Errorf("the commit is %q", c)
		}
	}
	script := filepath.Join(t.TempDir(), "aws")
	other := filepath.Join(filepath.Dir(script), "rclone")
	for path, says := range map[string]string{script: "aws-cli/1.2.3 Python/3", other: "rclone v1.60.1-DEV"} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+says+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mute, err := exec.LookPath("false")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(versions(t.Context(), map[string]string{"aws": script, "rclone": other, "s5cmd": mute}), "; "); got != "aws 1.2.3; rclone v1.60.1-DEV; s5cmd of an unknown version" {
		t.Errorf("%s", got)
	}
	info := &buildinfo.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}}}
	if got := versionOf(info); got != "v1.2.3" {
		t.Error(got)
	}
	if info.Main.Version = "(devel)"; versionOf(info) != "0123456789ab" {
		t.Error(versionOf(info))
	}
	o := outcome{Build: "0123456", Peers: []string{"aws 1.2.3"}}
	if o.builds() != " chunkup 0123456, aws 1.2.3." || (outcome{}).builds() != "" {
		t.Error(o.builds())
	}
}

// A long run does not begin that cannot end.
func TestReady(t *testing.T) {
	stored, _ := rowNamed("minio")
	tls, _ := rowNamed("tls")
	if err := (&lab{}).ready([]row{tls, stored}); err == nil || !strings.Contains(err.Error(), "go test ./integration/minio") {
		t.Error(err)
	}
	for _, l := range []*lab{{minio: "/minio"}, {}} {
		if err := l.ready([]row{tls}); err != nil {
			t.Error(err)
		}
	}
}

// MinIO over TLS is verified, and asked for what it has.
func TestMinioOverTLS(t *testing.T) {
	minio.Start(t) // it is built by now
	l := &lab{dir: t.TempDir(), minio: findMinio()}
	s, err := l.openMinio(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	web, err := s.web()
	if err != nil {
		t.Fatal(err)
	}
	defer web.CloseIdleConnections()
	if _, err := s.client(web).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("a"), Body: strings.NewReader("xyz")}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.stored(t.Context()); n != 3 || err != nil || !strings.HasPrefix(s.url, "https://") {
		t.Errorf("%d bytes at %s, %v", n, s.url, err)
	}
	unknown := store{url: s.url}
	if _, err := unknown.stored(t.Context()); err == nil {
		t.Error("a certificate that nobody knows is taken")
	}
}
