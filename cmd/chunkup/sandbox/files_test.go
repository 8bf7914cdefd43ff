package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

func TestObjectsArePlainFiles(t *testing.T) {
	r := start(t, Options{})
	whole := pattern(11*mib + 1)
	r.upload("dir/big", map[string]string{"a": "b"}, whole)
	r.put("small", "hello")
	r.put("empty", "")
	r.create("unfinished", nil)
	if got, want := slices.Sorted(slices.Values(names(filepath.Join(r.Dir(), "demo")))), []string{".sgwtmp", "dir", "empty", "small"}; !slices.Equal(got, want) {
		t.Errorf("while it runs: %q, want %q", got, want)
	}
	r.Close()
	for name, want := range map[string][]byte{"dir/big": whole, "small": []byte("hello"), "empty": {}} {
		got, err := os.ReadFile(filepath.Join(r.Dir(), "demo", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v; want %d", name, len(got), err, len(want))
		}
	}
	if got, want := names(r.Dir()), []string{metaDir, "demo"}; !slices.Equal(got, want) {
		t.Errorf("beside the bucket: %q, want %q", got, want)
	}
}

func TestCloseTidies(t *testing.T) {
	r := start(t, Options{Buckets: []string{"other"}})
	r.upload("k", nil, pattern(6*mib))
	r.put("k2", "x")
	id := r.create("aborted", nil)
	r.part("aborted", id, 1, pattern(10))
	if _, err := r.s3.AbortMultipartUpload(t.Context(), &s3.AbortMultipartUploadInput{Bucket: aws.String("demo"), Key: aws.String("aborted"), UploadId: &id}); err != nil {
		t.Fatal(err)
	}
	attributes := func() (n int) {
		_ = filepath.WalkDir(filepath.Join(r.Dir(), metaDir, "demo"), func(_ string, d os.DirEntry, _ error) error {
			if d.Name() == metaFile {
				n++
			}
			return nil
		})
		return n - 1 // the bucket's own
	}
	if n := attributes(); n != 4 { // k, k2, and the keys of the two uploads
		t.Errorf("%d files of attributes after two uploads ended, want 4: those of parts are left", n)
	}
	r.Close()
	if got, want := names(filepath.Join(r.Dir(), "demo")), []string{"k", "k2"}; !slices.Equal(got, want) {
		t.Errorf("after Close: %q, want %q", got, want)
	}
	if n := attributes(); n != 2 {
		t.Errorf("%d files of attributes after Close, want 2", n)
	}
}

// An object that takes the place of another inherits nothing from it.
func TestReplacedObject(t *testing.T) {
	r := start(t, Options{})
	for round, replace := range []func(){
		func() { r.put("k", "new") },
		func() { r.upload("k", nil, []byte("new")) },
	} {
		r.upload("k", map[string]string{"token": "old"}, pattern(6*mib))
		replace()
		head, err := r.head("k")
		if err != nil {
			t.Fatal(err)
		}
		if len(head.Metadata) != 0 || *head.ContentLength != 3 || aws.ToString(head.ChecksumCRC64NVME) != crc64([]byte("new")) {
			t.Errorf("round %d: metadata %v, %d bytes, checksum %s", round, head.Metadata, *head.ContentLength, aws.ToString(head.ChecksumCRC64NVME))
		}
		r.upload("k", map[string]string{"token": "kept"}, []byte("new"))
		if err := r.tryPut("k", "refused", aws.String("*")); err == nil {
			t.Error("create only succeeded")
		}
		if head, err := r.head("k"); err != nil || head.Metadata["token"] != "kept" {
			t.Errorf("round %d: a refused PUT left metadata %v, %v", round, head.Metadata, err)
		}
	}
}

// rm in the folder is as good as a DELETE.
func TestFileRemovedByHand(t *testing.T) {
	r := start(t, Options{})
	r.upload("k", map[string]string{"token": "old"}, []byte("x"))
	if err := os.Remove(filepath.Join(r.Dir(), "demo", "k")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.head("k"); err == nil {
		t.Error("HEAD found it")
	}
	if err := r.tryPut("k", "y", aws.String("*")); err != nil {
		t.Errorf("create only: %v", err)
	}
	if head, err := r.head("k"); err != nil || len(head.Metadata) != 0 {
		t.Errorf("metadata %v, %v", head.Metadata, err)
	}
}

func TestUploadGoesOnAfterARestart(t *testing.T) {
	dir := t.TempDir()
	whole := pattern(5*mib + 9)
	first := start(t, Options{Dir: dir})
	id := first.create("dir/k", map[string]string{"token": "abc"})
	one := first.part("dir/k", id, 1, whole[:5*mib])
	first.Close()

	// As if the process had been killed while it completed the upload.
	keyFolder := filepath.Dir(filepath.Join(dir, "demo", uploadFolder("dir/k", id)))
	claimed := filepath.Join(keyFolder, id+".0123456789abcdef-2"+inProgress)
	if err := os.Rename(filepath.Join(keyFolder, id), claimed); err != nil {
		t.Fatal(err)
	}
	if err := newAttributes(dir).RenameObject(filepath.Join(dir, "demo"), uploadFolder("dir/k", id), uploadFolder("dir/k", filepath.Base(claimed))); err != nil {
		t.Fatal(err)
	}

	second := start(t, Options{Dir: dir})
	uploads, err := second.s3.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: aws.String("demo")})
	if err != nil || len(uploads.Uploads) != 1 || *uploads.Uploads[0].UploadId != id || *uploads.Uploads[0].Key != "dir/k" {
		t.Fatalf("uploads: %+v, %v", uploads.Uploads, err)
	}
	list, err := second.s3.ListParts(t.Context(), &s3.ListPartsInput{Bucket: aws.String("demo"), Key: aws.String("dir/k"), UploadId: &id})
	if err != nil || len(list.Parts) != 1 || *list.Parts[0].ETag != *one.ETag || *list.Parts[0].ChecksumCRC64NVME != *one.ChecksumCRC64NVME {
		t.Fatalf("parts: %+v, %v", list, err)
	}
	two := second.part("dir/k", id, 2, whole[5*mib:])
	if _, err := second.s3.CompleteMultipartUpload(t.Context(), completion("dir/k", id, whole, one, two)); err != nil {
		t.Fatal(err)
	}
	if head, err := second.head("dir/k"); err != nil || head.Metadata["token"] != "abc" {
		t.Errorf("metadata %v, %v", head.Metadata, err)
	}
}

func TestKeysThatLookOdd(t *testing.T) {
	r := start(t, Options{})
	keys := []string{
		"a+b c&d=e?f#g%41", "ü/名前", "=attributes", "=/==", "objects/x", ".chunkup/x", "x/=attributes", "meta/acl",
		".hidden", strings.Repeat("d/", 100) + "deep", strings.Repeat("n", 255),
	}
	for _, key := range keys {
		r.put(key, key)
	}
	for _, key := range keys {
		out, err := r.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("demo"), Key: aws.String(key)})
		if err != nil {
			t.Errorf("%q: %v", key, err)
			continue
		}
		body, err := io.ReadAll(out.Body)
		out.Body.Close()
		if err != nil || string(body) != key || aws.ToString(out.ETag) == "" {
			t.Errorf("%q: %q, ETag %q, %v", key, body, aws.ToString(out.ETag), err)
		}
	}
	out, err := r.s3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("demo")})
	if err != nil || len(out.Contents) != len(keys) || *out.Name != "demo" {
		t.Errorf("list: %d of %d, %v", len(out.Contents), len(keys), err)
	}
}

func TestNothingLeavesTheFolder(t *testing.T) {
	r := start(t, Options{Dir: filepath.Join(t.TempDir(), "sandbox")})
	outside := filepath.Join(filepath.Dir(r.Dir()), "escaped")
	for _, key := range []string{"../../escaped", "a/../../../escaped", "../" + metaDir + "/demo/x", `..\..\escaped`} {
		err := r.tryPut(key, "x", nil)
		if status, _ := failure(err); status != http.StatusBadRequest && key[2] != '\\' {
			t.Errorf("%s: %v, want 400", key, err)
		}
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("an object was written outside of the folder")
	}
	if got := names(filepath.Dir(r.Dir())); !slices.Equal(got, []string{"sandbox"}) {
		t.Errorf("beside the folder: %q", got)
	}
}

func TestManyAtOnce(t *testing.T) {
	r := start(t, Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				key := fmt.Sprintf("dir%d/k%d", j%2, i)
				if err := r.tryPut(key, key, nil); err != nil {
					t.Error(err)
				}
				if _, err := r.head(key); err != nil {
					t.Error(err)
				}
				if _, err := r.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("demo"), Key: &key}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := names(filepath.Join(r.Dir(), "demo")); len(slices.DeleteFunc(got, func(n string) bool { return n == ".sgwtmp" })) > 0 {
		t.Errorf("left over: %q", got)
	}
}

// What is wrong with the folder is told to the client and not to the terminal.
func TestErrorOfTheFolderIsTold(t *testing.T) {
	r := start(t, Options{})
	if err := os.WriteFile(filepath.Join(r.Dir(), metaDir, "demo", "dir"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := r.tryPut("dir/k", "x", nil)
	if status, code := failure(err); status != http.StatusInternalServerError || code != "InternalError" || !strings.Contains(err.Error(), filepath.Join(metaDir, "demo", "dir")) {
		t.Errorf("%v", err)
	}
}
