package journal

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/chunker"
)

// childKey names the job of a process that a test started from this binary.
const childKey = "CHUNKUP_JOURNAL_TEST_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childKey); job != "" {
		runJob(job, Open(os.Args[1]))
		return
	}
	// 100 cases, rapid's own default, are too few for arithmetic.
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("1000"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	m.Run()
}

const (
	endpoint = "https://s3.example.com"
	bucket   = "b"
	key      = "dir/ä key"
)

// validRecord returns a record with every field set.
func validRecord(t testing.TB) Record {
	t.Helper()
	digest, err := chunker.Sum(strings.NewReader("one"), chunker.CRC64NVME)
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs("source \xff") // not UTF-8
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 2, 3, 4, 5, 6, 789, time.UTC)
	return Record{
		Version: Version, Updated: at, PID: 7, Host: "h",
		State: Uploading, Endpoint: endpoint, Bucket: bucket, Key: key,
		Token: "t", UploadID: "<id&>",
		Source:    Source{Path: path, Identity: chunker.Identity{Size: 25, ModTime: at, ChangeTime: at, Device: 1, Inode: 1 << 63}},
		Plan:      chunker.Plan{Size: 25, PartSize: 10},
		Algorithm: chunker.CRC64NVME, FullObject: true,
		Header:   http.Header{"Content-Type": {"text/plain", "\xe4"}, "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": {"arn:k"}},
		Metadata: map[string]string{"owner": "ü"}, Conditional: true,
		Leftover: []string{"old"}, Keys: map[string]string{"old": "ü other"},
		Command: []string{"chunkup", "cp", "a\xffb", "s3://b/key"},
		Parts:   []Part{{3, 5, `"e3"`, chunker.Digest{}}, {1, 10, `"e1"`, digest}},
		Started: at,
	}
}

// mustEqual compares records by their spelling, which has all of them.
func mustEqual(t testing.TB, got, want Record) {
	t.Helper()
	var a, b bytes.Buffer
	err, err2 := seal(&a, got, maxSize), seal(&b, want, maxSize)
	if err != nil || err2 != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Fatalf("got %s, %v\nwant %s, %v", &a, err, &b, err2)
	}
}

// mustClaim claims the destination of validRecord.
func mustClaim(t testing.TB, d *Dir) *Claim {
	t.Helper()
	c, err := d.Claim(endpoint, bucket, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Release(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func mustSave(t testing.TB, c *Claim, r Record) {
	t.Helper()
	if err := c.Save(r); err != nil {
		t.Fatal(err)
	}
}

func mustRelease(t testing.TB, c *Claim) {
	t.Helper()
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
}

// mustHold fails if the folder has other files than these.
func mustHold(t testing.TB, d *Dir, want ...string) {
	t.Helper()
	files, err := os.ReadDir(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Name())
	}
	slices.Sort(want)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("the folder has %q, not %q", got, want)
	}
}

// file returns the names that the destination of validRecord has on disk.
func file(suffix string) string { return destination(endpoint, bucket, key) + suffix }
