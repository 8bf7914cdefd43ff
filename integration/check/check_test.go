package check

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/integration/minio"
)

var store minio.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	store.Stop()
	os.Exit(code)
}

func TestSourceReadsTheSameEverywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 300).Draw(t, "size")
		off := rapid.Int64Range(0, 320).Draw(t, "off")
		length := rapid.IntRange(0, 64).Draw(t, "length")
		s := Pattern(size)
		whole := make([]byte, size)
		if n, err := s.ReadAt(whole, 0); n != int(size) || err != nil {
			t.Fatalf("whole: %d, %v", n, err)
		}
		got := make([]byte, length)
		n, err := s.ReadAt(got, off)
		from := min(off, size)
		expect := whole[from:min(from+int64(length), size)]
		if !bytes.Equal(got[:n], expect) {
			t.Errorf("at %d: % x, want % x", off, got[:n], expect)
		}
		if (n < length) != (err == io.EOF) {
			t.Errorf("%d of %d bytes and %v", n, length, err)
		}
	})
}

func TestSourceIsAReaderAt(t *testing.T) {
	s := Pattern(100_003)
	all := make([]byte, s.Size())
	if _, err := s.ReadAt(all, 0); err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(io.NewSectionReader(s, 0, s.Size()), all); err != nil {
		t.Error(err)
	}
	if _, err := s.ReadAt(all, -1); err == nil {
		t.Error("a negative offset is no error")
	}
}

func TestSourceWordsTellTheirOffset(t *testing.T) {
	s := Pattern(1 << 40)
	var word [8]byte
	for _, off := range []int64{0, 8, 1 << 20, 1<<40 - 8} {
		if _, err := s.ReadAt(word[:], off); err != nil {
			t.Fatal(err)
		}
		if got, ok := s.origin(word[:]); got != off || !ok {
			t.Errorf("the word at %d says %d, %v", off, got, ok)
		}
	}
	for name, foreign := range map[string]uint64{
		"zeros":           0,
		"past the end":    s.seed ^ 1<<40,
		"before the zero": s.seed ^ 1<<63,
		"not aligned":     s.seed ^ 4,
	} {
		binary.LittleEndian.PutUint64(word[:], foreign)
		if off, ok := s.origin(word[:]); ok {
			t.Errorf("%s: fits at %d", name, off)
		}
	}
}

func TestRandomSourcesDiffer(t *testing.T) {
	if a, b := Random(t, 8), Random(t, 8); a == b {
		t.Errorf("twice the seed %#x", a.seed)
	}
	complaint := try(t, func(t testing.TB) {
		Random(t, 9)
		t.Errorf("broken")
	})
	want(t, complaint, "seed 0x")
}

func TestTempFileHoldsTheSource(t *testing.T) {
	s := Random(t, window+3)
	f, err := os.Open(TempFile(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := compare(f, s, s.Size()); err != nil {
		t.Error(err)
	}
}

func TestCompareFindsTheDifference(t *testing.T) {
	const size = 2*window + 5
	s := Pattern(size)
	good := make([]byte, size)
	if _, err := s.ReadAt(good, 0); err != nil {
		t.Fatal(err)
	}
	edit := func(f func([]byte) []byte) []byte { return f(bytes.Clone(good)) }
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"same":        {good, ""},
		"empty":       {nil, "ends after 0 bytes"},
		"short":       {good[:window], fmt.Sprintf("ends after %d bytes, want %d", window, size)},
		"long":        {append(bytes.Clone(good), 1), fmt.Sprintf("goes on after the %d bytes", size)},
		"last byte":   {edit(func(b []byte) []byte { b[size-1]++; return b }), fmt.Sprintf("differs from the source at %d", size-1)},
		"zeroed":      {edit(func(b []byte) []byte { clear(b[window : window+64]); return b }), fmt.Sprintf("at %d: holds 00 00", window)},
		"shifted":     {edit(func(b []byte) []byte { copy(b[64:], good[8192:]); return b }), "at 64: holds what belongs at 8192"},
		"long, wrong": {edit(func(b []byte) []byte { b[0]++; return append(b, 1) }), "differs from the source at 0"},
	} {
		t.Run(name, func(t *testing.T) {
			complaint := ""
			if err := compare(bytes.NewReader(c.got), s, size); err != nil {
				complaint = err.Error()
			}
			want(t, complaint, c.want)
		})
	}
	broken := errors.New("broken")
	if err := compare(iotest.ErrReader(broken), s, size); !errors.Is(err, broken) {
		t.Errorf("a broken object: %v", err)
	}
	if err := compare(bytes.NewReader(good), s, size+1); err == nil {
		t.Error("a source shorter than said is no error")
	}
}

func TestObjectChecks(t *testing.T) {
	server := store.Server(t)
	client, bucket := server.Client(), server.Bucket(t)
	s, key := Random(t, 1<<20), "dir/object"
	put := func(key string) {
		body := io.NewSectionReader(s, 0, s.Size())
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	equal := func(key string, s Source) string {
		return try(t, func(t testing.TB) { Equal(t, client, bucket, key, s, s.Size()) })
	}
	absent := func(bucket string) string {
		return try(t, func(t testing.TB) { Absent(t, client, bucket, key) })
	}
	want(t, absent(bucket), "")
	want(t, absent("no-such-bucket"), "NoSuchBucket")
	want(t, equal(key, s), "NoSuchKey")
	put(key)
	want(t, absent(bucket), "exists")
	want(t, equal(key, s), "")
	other := Source{seed: s.seed + 1, size: s.size}
	for byteOf(other) == byteOf(s) { // one byte may be the same by chance
		other.seed++
	}
	want(t, equal(key, other), "differs from the source at 0")
}

// byteOf is the first byte of a source.
func byteOf(s Source) byte {
	var b [1]byte
	_, _ = s.ReadAt(b[:], 0)
	return b[0]
}

func TestNoUploadsSeesOpenOnes(t *testing.T) {
	server := store.Server(t)
	client, bucket, key, longer := server.Client(), server.Bucket(t), "k", "k2"
	check := func() string {
		return try(t, func(t testing.TB) { NoUploads(t, client, bucket, key) })
	}
	create := func(key string) string {
		out, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: &key})
		if err != nil {
			t.Fatal(err)
		}
		return *out.UploadId
	}
	want(t, check(), "")
	create(longer)
	want(t, check(), "")
	id := create(key)
	want(t, check(), id+" of "+bucket+"/k is open")
	_, err := client.AbortMultipartUpload(t.Context(), &s3.AbortMultipartUploadInput{Bucket: &bucket, Key: &key, UploadId: &id})
	if err != nil {
		t.Fatal(err)
	}
	want(t, check(), "")
}

// S3 lists every key that begins with the prefix.
func TestNoUploadsIsAboutOneKey(t *testing.T) {
	s3like := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.Query().Get("prefix")
		fmt.Fprintf(w, "<ListMultipartUploadsResult><Upload><Key>%s2</Key><UploadId>u</UploadId></Upload></ListMultipartUploadsResult>", key)
	}))
	defer s3like.Close()
	client := store.Server(t).ClientAt(s3like.URL)
	want(t, try(t, func(t testing.TB) { NoUploads(t, client, "b", "k") }), "")
}

func TestLeaksFindsGoroutines(t *testing.T) {
	stop := make(chan struct{})
	want(t, try(t, func(t testing.TB) {
		Leaks(t)
		go func() { <-stop }()
	}), "TestLeaksFindsGoroutines")
	want(t, try(t, func(t testing.TB) {
		Leaks(t) // the one from before is not this test's
		t.Cleanup(func() { close(stop) })
		go func() { <-stop }()
	}), "")
}

func TestLeaksFindsDescriptors(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	var open []net.Listener
	listen := func(n int) func(testing.TB) {
		return func(t testing.TB) {
			Leaks(t)
			for range n {
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Errorf("%v", err)
					return
				}
				open = append(open, ln)
			}
		}
	}
	defer func() {
		for _, ln := range open {
			ln.Close()
		}
	}()
	listen(slack)(&trial{TB: t}) // whatever the runtime opens is open now
	want(t, try(t, listen(slack)), "")
	want(t, try(t, listen(slack+1)), "socket:")
}
