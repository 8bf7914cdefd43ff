package mint

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// crc is the digest of "123456789".
func crc(t testing.TB) chunker.Digest {
	d, err := chunker.Sum(strings.NewReader("123456789"), chunker.CRC64NVME)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// asserts that values with hidden fields are equal.
var sameValues = cmp.Options{cmp.Comparer(func(a, b chunker.Digest) bool { return a == b }),
	cmp.Comparer(func(a, b multipart.Receipt) bool { return a == b })}

// What each call asks for, and what it makes of the answer.
func TestClientControl(t *testing.T) {
	answers := map[string]string{
		"POST /s3/multipart":                    `{"key":"chosen","uploadId":"up/load","bucket":"bucket"}`,
		"GET /s3/multipart/up%2Fload":           `[{"PartNumber":1,"Size":9,"ETag":"\"e\"","ChecksumCRC64NVME":"` + crc(t).Base64() + `"},{"PartNumber":2,"ETag":"f","ChecksumCRC64NVME":"junk"}]`,
		"POST /s3/multipart/up%2Fload/complete": `{"key":"k","bucket":"b","etag":"\"e-1\"","versionId":"v","algorithm":"crc64nvme","checksum":"` + crc(t).Base64() + `"}`,
		"GET /s3/object":                        `{"size":9,"etag":"\"e-1\"","algorithm":"crc64nvme","checksum":"` + crc(t).Base64() + `","composite":3,"metadata":{"Chunkup-Token":"T"},"opaqueETag":true}`,
		"DELETE /s3/multipart/up%2Fload":        `{}`,
		"GET /s3/params":                        `{"method":"PUT","url":"https://store/x","headers":{"x-amz-meta-owner":"me","If-None-Match":"*"},"key":"dir/k y","bucket":"bucket"}`,
	}
	s := &fakeService{about: fakeAbout, answer: func(c fakeCall) (*http.Response, error) {
		return reply(200, answers[c.Method+" "+c.URL.EscapedPath()]), nil
	}}
	c := dialFake(t, s, func(o *ClientOptions) { o.Header = http.Header{"X-Team": {"infra"}} })
	ctx := t.Context()
	i := someIntent
	i.Header = http.Header{"Content-Type": {"text/plain"}, "Cache-Control": {"no-store", "private"}, "X-Amz-Meta-Chunkup-Token": {"the-token"}}
	i.Algorithm, i.FullObject = chunker.CRC64NVME, true
	u, err := c.Create(ctx, i)
	if want := (multipart.Upload{Bucket: "bucket", Key: "chosen", ID: "up/load"}); err != nil || u != want {
		t.Errorf("Create: %v, %v", u, err)
	}
	parts, err := c.List(ctx, u)
	want := []multipart.Receipt{{Number: 1, Size: 9, ETag: `"e"`, Digest: crc(t)}, {Number: 2, ETag: "f"}}
	if diff := cmp.Diff(want, parts, sameValues); err != nil || diff != "" {
		t.Errorf("List: %v\n%s", err, diff)
	}
	info, err := c.Complete(ctx, u, multipart.Completion{Parts: want[:1], Size: 9, Algorithm: chunker.CRC64NVME, FullObject: true, Digest: crc(t), CreateOnly: true})
	if diff := cmp.Diff(multipart.Info{ETag: `"e-1"`, VersionID: "v", Digest: crc(t), Metadata: map[string]string{}}, info, sameValues); err != nil || diff != "" {
		t.Errorf("Complete: %v\n%s", err, diff)
	}
	info, err = c.Head(ctx, "bucket", "chosen")
	if diff := cmp.Diff(multipart.Info{Size: 9, ETag: `"e-1"`, Digest: crc(t), Composite: 3, Metadata: map[string]string{"chunkup-token": "T"}, OpaqueETag: true}, info, sameValues); err != nil || diff != "" {
		t.Errorf("Head: %v\n%s", err, diff)
	}
	if _, err := c.Head(ctx, "bucket", "unknown"); err != nil {
		t.Error(err)
	}
	if err := c.Abort(ctx, u); err != nil {
		t.Error(err)
	}
	r, err := c.Presign(ctx, presign.Part{Bucket: "bucket", Key: "dir/k y", Size: 5, ChecksumHeader: "Content-Md5", Checksum: "sum+/=",
		Header: http.Header{"If-None-Match": {"*"}, "X-Amz-Meta-Owner": {"me"}, "Cache-Control": {"no-store"}}})
	if diff := cmp.Diff(presign.Request{Method: "PUT", URL: "https://store/x", Header: http.Header{"X-Amz-Meta-Owner": {"me"}, "If-None-Match": {"*"}, "Content-Md5": {"sum+/="}}}, r); err != nil || diff != "" {
		t.Errorf("Presign: %v\n%s", err, diff)
	}
	var got []string
	for _, call := range s.since() {
		if call.Header.Get("X-Team") != "infra" || call.Header.Get("Accept") != "application/json" ||
			call.body != "" && call.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s has the headers %v", call.URL, call.Header)
		}
		got = append(got, strings.TrimSpace(call.Method+" "+call.URL.RequestURI()+" "+call.body+" "+call.Header.Get("Idempotency-Key")))
	}
	if diff := cmp.Diff([]string{
		`POST /s3/multipart {"filename":"key","type":"text/plain","metadata":{"chunkup-token":"the-token"},"key":"dir/key","size":11,"headers":{"Cache-Control":"no-store, private"},"algorithm":"crc64nvme","fullObject":true} the-token`,
		`GET /s3/multipart/up%2Fload?key=chosen`,
		`POST /s3/multipart/up%2Fload/complete?key=chosen {"parts":[{"PartNumber":1,"Size":9,"ETag":"\"e\"","ChecksumCRC64NVME":"rosUhgp5mIg="}],"size":9,"checksum":"rosUhgp5mIg=","createOnly":true}`,
		`GET /s3/object?key=chosen&uploadId=up%2Fload`,
		`GET /s3/object?key=unknown`,
		`DELETE /s3/multipart/up%2Fload?key=chosen`,
		`GET /s3/params?checksum=sum%2B%2F%3D&checksumHeader=Content-Md5&createOnly=true&filename=k+y&headers%5BCache-Control%5D=no-store&key=dir%2Fk+y&metadata%5Bowner%5D=me&size=5&type=`,
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Without the right to choose, no key is asked for, and an unknown size is not said.
func TestClientCreateUnchosen(t *testing.T) {
	s := &fakeService{about: `{"version":1,"bucket":"bucket"}`, answer: func(fakeCall) (*http.Response, error) {
		return reply(200, `{"key":"random/x","uploadId":"u","bucket":"bucket"}`), nil
	}}
	u, err := dialFake(t, s).Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "dir/x", Size: -1})
	if got := s.since()[0].body; err != nil || u.Key != "random/x" || got != `{"filename":"x","type":"","metadata":{}}` {
		t.Errorf("%v, %v: %s", u, err, got)
	}
}

// What would go wrong at the service is refused before it is asked, for good.
func TestClientUnasked(t *testing.T) {
	s := &fakeService{about: fakeAbout}
	c := dialFake(t, s)
	other := presign.Part{Bucket: "other", Key: "k"}
	_, err1 := c.Create(t.Context(), multipart.Intent{Bucket: "other", Key: "k"})
	_, err2 := c.Presign(t.Context(), other)
	_, err3 := c.Head(t.Context(), "other", "k")
	_, err4 := c.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "k", Header: http.Header{"Expires": {"now"}}})
	for i, err := range []error{err1, err2, err3, err4} {
		want := "service https://mint.example.com: it uploads to the bucket bucket, not to other"
		if i == 3 {
			want = "service https://mint.example.com: it does not let this caller set Expires"
		}
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if e, ok := errors.AsType[*wire.StoreError](err); !ok || wire.Classify(wire.Outcome{Op: wire.Create, Status: e.Status}) != wire.Fatal {
			t.Errorf("%v may be asked again", err)
		}
	}
	if n := len(s.since()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// What the service says of an upload that it does not know becomes what the store would
// say; what it says of an object does not.
func TestClientUnknownUpload(t *testing.T) {
	status, body := 404, `{"error":"there is no such upload"}`
	s := &fakeService{about: fakeAbout, answer: func(fakeCall) (*http.Response, error) { return reply(status, body), nil }}
	c := dialFake(t, s)
	for _, tt := range []struct {
		status int
		body   string
		code   string // of list, complete and sign
		head   int
		abort  bool // succeeds
	}{
		{404, `{"error":"there is no such upload"}`, "NoSuchUpload", 403, false},
		{410, `{"error":"its time is over"}`, "NoSuchUpload", 410, true},
		{404, `<html>no such page</html>`, "", 403, false},
		{404, `{"error":"x","store":{"status":404,"code":"NoSuchUpload"}}`, "NoSuchUpload", 404, true},
	} {
		status, body = tt.status, tt.body
		for _, name := range []string{"list", "complete", "sign"} {
			err := everyCall[name].call(t.Context(), c)
			if e, ok := errors.AsType[*wire.StoreError](err); !ok || e.Status != 404 || e.Code != tt.code {
				t.Errorf("%s: %d %s: %v", name, tt.status, tt.body, err)
			}
		}
		err := everyCall["head"].call(t.Context(), c)
		if e, ok := errors.AsType[*wire.StoreError](err); !ok || e.Status != tt.head {
			t.Errorf("head: %d %s: %v", tt.status, tt.body, err)
		}
		if err := everyCall["abort"].call(t.Context(), c); (err == nil) != tt.abort {
			t.Errorf("abort: %d %s: %v", tt.status, tt.body, err)
		}
	}
}

func TestClientFileName(t *testing.T) {
	for key, want := range map[string]string{"a": "a", "dir/a.txt": "a.txt", "dir/": "dir", "/": "file", "": "file", "..": "file", "a/..": "file"} {
		if got := fileName(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

func TestClientMemory(t *testing.T) {
	var m memory
	for _, key := range []string{"a", "b", "a"} {
		m.note(key, "of "+key)
	}
	m.note("b", "newer")
	if m.of("a") != "of a" || m.of("b") != "newer" || m.of("c") != "" {
		t.Errorf("%v", m.ids)
	}
	for i := range 3 * maxRemembered {
		m.note(strings.Repeat("x", i), "id")
	}
	if len(m.ids) != maxRemembered || len(m.order) != maxRemembered || m.of("a") != "" {
		t.Errorf("%d ids, %d keys, a: %q", len(m.ids), len(m.order), m.of("a"))
	}
}

// What goes out comes back: headers, parts, objects, traits and maps in a query.
func TestConvertProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z][a-z0-9-]{0,8}`)
		value := rapid.StringMatching(`[!-~]{1,12}`)
		metadata := rapid.MapOfN(name, value, 0, 4).Draw(t, "metadata")
		prefix := rapid.SampledFrom([]string{"", "X-Amz-Meta-", "X-Goog-Meta-"}).Draw(t, "prefix")
		others := map[string]string{}
		for k, v := range rapid.MapOfN(name, value, 0, 4).Draw(t, "others") {
			others[http.CanonicalHeaderKey("o"+k)] = v
		}
		h := joinHeader("text/plain", metadata, others, prefix)
		kind, metadataBack, othersBack := splitHeader(h, prefix)
		if kind != "text/plain" || !maps.Equal(metadata, metadataBack) || !maps.Equal(others, othersBack) {
			t.Fatalf("%v became %q, %v, %v", h, kind, metadataBack, othersBack)
		}
		q := map[string][]string{"key": {"k"}}
		setMap(q, "metadata", metadata)
		if back := getMap(q, "metadata"); !maps.Equal(metadata, back) {
			t.Fatalf("%v became %v", metadata, back)
		}

		algorithm := rapid.SampledFrom([]chunker.Algorithm{chunker.CRC64NVME, chunker.CRC32C, chunker.CRC32, chunker.SHA256}).Draw(t, "algorithm")
		digest, err := chunker.NewDigest(algorithm, rapid.SliceOfN(rapid.Byte(), algorithm.Size(), algorithm.Size()).Draw(t, "sum"))
		if err != nil {
			t.Fatal(err)
		}
		r := multipart.Receipt{Number: rapid.IntRange(1, 10000).Draw(t, "number"), Size: rapid.Int64Min(0).Draw(t, "size"), ETag: value.Draw(t, "etag"), Digest: digest}
		if back := partOf(r).receipt(); back != r {
			t.Fatalf("%v became %v", r, back)
		}
		i := multipart.Info{Size: r.Size, ETag: r.ETag, VersionID: value.Draw(t, "version"), Digest: digest,
			Composite: rapid.IntRange(0, 9).Draw(t, "composite"), Metadata: metadata, OpaqueETag: rapid.Bool().Draw(t, "opaque")}
		if diff := cmp.Diff(i, objectInfoOf(i).info(), sameValues); diff != "" {
			t.Fatal(diff)
		}
		traits := multipart.Traits{Algorithm: algorithm, Whole: rapid.SampledFrom([]chunker.Algorithm{chunker.None, chunker.CRC32C}).Draw(t, "whole"),
			FullObject: rapid.Bool().Draw(t, "full"), EqualParts: rapid.Bool().Draw(t, "equal"), CreateOnly: rapid.Bool().Draw(t, "only"),
			GoogHash: rapid.Bool().Draw(t, "goog"), MetaPrefix: prefix, Limits: chunker.Limits{MinPart: 1, MaxPart: 2, MaxParts: 3, MaxObject: 4}}
		if back, err := storeOf(traits).traits(); err != nil || !cmp.Equal(traits, back) {
			t.Fatalf("%v became %v, %v", traits, back, err)
		}
		e := &wire.StoreError{Status: 400, Code: "InvalidPart", Message: "no", RequestID: "R", RetryAfter: 1500e6}
		if back := storeErrorOf(e).restore(); *back != *e {
			t.Fatalf("%v became %v", e, back)
		}
	})
}

// A map of a query has its own keys and no others'.
func TestGetMap(t *testing.T) {
	q := map[string][]string{"metadata[a]": {"1", "2"}, "metadata[]": {"3"}, "metadata": {"4"}, "metadata[b": {"5"}, "xmetadata[c]": {"6"}, "metadata[d][e]": {"7"}}
	got := getMap(q, "metadata")
	if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, []string{"", "a", "d][e"}) || got["a"] != "1" {
		t.Errorf("%v", got)
	}
	if getMap(q, "headers") != nil {
		t.Error("there are none")
	}
}
