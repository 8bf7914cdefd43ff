package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What a command has started ends with it, and so does one that will not be told.
func TestCommandGroup(t *testing.T) {
	isolate(t)
	for name, script := range map[string]string{
		"children":      `sleep 60 & echo $! > %s; head -c 12000000 /dev/zero; wait`,
		"deaf":          `trap "" TERM; echo $$ > %s; head -c 12000000 /dev/zero; while :; do sleep 1; done`,
		"deaf children": `(trap "" TERM; while :; do sleep 1; done) & echo $! > %s; head -c 12000000 /dev/zero; wait`,
	} {
		f := newFake(t)
		f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
			return op == "part" && refuse(w, 403, "AccessDenied")
		})
		pid := filepath.Join(t.TempDir(), "pid")
		began := time.Now()
		f.cp(t, "-", "s3://bucket/key", "--part-size", "5MiB", "--provider", "minio", "--", "sh", "-c", fmt.Sprintf(script, pid)).want(t, exitDenied)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
		text, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(5 * time.Second); alive(strings.TrimSpace(string(text))); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: process %s has outlived the upload", name, text)
			}
		}
	}
}

// alive tells a process from none, and from one that nobody has waited for.
func alive(pid string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	_, state, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}
