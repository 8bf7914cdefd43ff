package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/chunker"
)

// encode returns the file of a record, as Save writes it.
func encode(r Record, limit int64) ([]byte, error) {
	if err := r.normalise(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err := seal(&b, r, limit)
	return b.Bytes(), err
}

func mustEncode(t testing.TB, r Record) []byte {
	t.Helper()
	data, err := encode(r, maxSize)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRoundTrip(t *testing.T) {
	want := validRecord(t)
	got, err := decode(mustEncode(t, want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
	}
	if got.Source.Identity != want.Source.Identity {
		t.Error("the identity is not == any more")
	}
	// Times of any zone become comparable.
	zoned := want
	zoned.Started = time.Now().In(time.FixedZone("z", 3600))
	got, err = decode(mustEncode(t, zoned))
	if err != nil || got.Started != zoned.Started.Round(0).UTC() {
		t.Errorf("got %v, %v; want %v", got.Started, err, zoned.Started)
	}
	// Every field was set, so that every one was compared.
	for v, i := reflect.ValueOf(want), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("the test says nothing about %s", v.Type().Field(i).Name)
		}
	}
}

// The least that a record may have.
func TestRoundTripSmall(t *testing.T) {
	for _, want := range []Record{
		{Version: Version, State: Creating, Key: "k", Token: "t"},
		{Version: Version, State: Orphaned, Key: "k"},
		{Version: Version, State: Aborting, Key: "k", UploadID: "u"},
	} {
		got, err := decode(mustEncode(t, want))
		if err != nil {
			t.Fatal(err)
		}
		mustEqual(t, got, want)
	}
}

// pieces remembers the longest of what it is given at once.
type pieces struct{ longest, total int }

func (p *pieces) Write(b []byte) (int, error) {
	p.longest, p.total = max(p.longest, len(b)), p.total+len(b)
	return len(b), nil
}

// A record is written part by part: one of many parts is never in memory as a whole.
func TestManyPartsAreWrittenOneByOne(t *testing.T) {
	r := validRecord(t)
	unplan(&r)
	for n := len(r.Parts); n < 10_000; n++ {
		r.Parts = append(r.Parts, Part{Number: n + 2, Size: 10, ETag: `"d41d8cd98f00b204e9800998ecf8427e"`})
	}
	var p pieces
	if err := seal(&p, r, maxSize); err != nil {
		t.Fatal(err)
	}
	if p.total < 500_000 || p.longest > 8<<10 {
		t.Errorf("%d bytes were written %d at once", p.total, p.longest)
	}
	if got, err := decode(mustEncode(t, r)); err != nil || len(got.Parts) != len(r.Parts) {
		t.Errorf("%d of %d parts came back, %v", len(got.Parts), len(r.Parts), err)
	}
}

// until takes so many bytes and then fails.
type until struct{ left int }

var errUntil = errors.New("no more")

func (u *until) Write(p []byte) (int, error) {
	if n := u.left; n < len(p) {
		u.left = 0
		return n, errUntil
	}
	u.left -= len(p)
	return len(p), nil
}

// Wherever a write fails, and however little there is room for, it is said; and not
// that the record was bad, unless it was too long.
func TestNoByteTooFew(t *testing.T) {
	r := validRecord(t)
	for n := 3; n < 200; n++ { // more than are kept back before a write
		r.Parts = append(r.Parts, Part{Number: n + 1, Size: 10, ETag: `"d41d8cd98f00b204e9800998ecf8427e"`})
	}
	var whole bytes.Buffer
	if err := seal(&whole, r, maxSize); err != nil {
		t.Fatal(err)
	}
	for n := whole.Len() - 1; n >= 0; n -= 13 {
		if err := seal(&until{n}, r, maxSize); err != errUntil {
			t.Fatalf("after %d of %d bytes: %v", n, whole.Len(), err)
		}
		err := seal(io.Discard, r, int64(n))
		if _, ok := errors.AsType[*InvalidError](err); !ok {
			t.Fatalf("%d of %d bytes are allowed: %v", n, whole.Len(), err)
		}
	}
}

// What JSON escapes, or could, comes back.
func TestEscapes(t *testing.T) {
	r := validRecord(t)
	text := "<a>&\"\\\x00\u2028\ufffd\n"
	r.Key, r.UploadID, r.Host, r.Leftover[0], r.Parts[0].ETag = text, text, text, text, text
	got, err := decode(mustEncode(t, r))
	if err != nil {
		t.Fatal(err)
	}
	mustEqual(t, got, r)
	if got.Parts[0].ETag != text || got.Key != text {
		t.Errorf("%q became %q and %q", text, got.Key, got.Parts[0].ETag)
	}
}

// invalidRecords are changes that each make validRecord invalid, by what the
// error says.
var invalidRecords = map[string]func(*Record){
	"version is 0":                     func(r *Record) { r.Version = 0 },
	"pid is -1":                        func(r *Record) { r.PID = -1 },
	`state is "done"`:                  func(r *Record) { r.State = "done" },
	`state is ""`:                      func(r *Record) { r.State = "" },
	"id is known":                      func(r *Record) { r.State = Creating },
	"id is missing":                    func(r *Record) { r.UploadID = "" },
	"parts are of no upload":           func(r *Record) { r.State, r.UploadID = Orphaned, "" },
	"endpoint is not a URL":            func(r *Record) { r.Endpoint = "https://u:p w@h" },
	"endpoint has more":                func(r *Record) { r.Endpoint = "https://user:pass@h" },
	"endpoint has more than":           func(r *Record) { r.Endpoint = "https://h?X-Amz-Signature=1" },
	"key is empty":                     func(r *Record) { r.Key = "" },
	"leftover has an empty id":         func(r *Record) { r.Leftover[0] = "" },
	"token is empty":                   func(r *Record) { r.Token = "" },
	"source is not an absolute path":   func(r *Record) { r.Source.Path = "a/b" },
	"source is not an absolute":        func(r *Record) { r.Source.Path += "\x00" },
	"has 0 parts":                      func(r *Record) { r.Plan.PartSize = 0 },
	"of -1 bytes":                      func(r *Record) { r.Plan.Size = -1 },
	"parts, not 1..100000":             func(r *Record) { r.Plan.Size = 1_000_001; r.Source.Identity.Size = 1_000_001 },
	"plan is of 24 bytes":              func(r *Record) { r.Plan.Size = 24 },
	"plan is of 25 bytes, the source":  func(r *Record) { r.Source = Source{Identity: chunker.Identity{Inode: 1}} },
	"number 4, not in 1..3":            func(r *Record) { r.Parts[0].Number = 4 },
	"number 0, not in":                 func(r *Record) { r.Parts[0].Number = 0 },
	"number 1 twice":                   func(r *Record) { r.Parts[0] = r.Parts[1] },
	"6 bytes in number 3, not":         func(r *Record) { r.Parts[0].Size = 6 },
	"-1 bytes in number 3":             func(r *Record) { r.Parts[0].Size = -1 },
	"no ETag for number 1":             func(r *Record) { r.Parts[1].ETag = `""` },
	"a crc64nvme for number 1":         func(r *Record) { r.Algorithm = chunker.CRC32C },
	"year 0":                           func(r *Record) { r.Started = time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600)) },
	"year 10000":                       func(r *Record) { r.Source.Identity.ModTime = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) },
	"header Authorization carries":     func(r *Record) { r.Header["Authorization"] = []string{"x"} },
	"header x-amz-security-token":      func(r *Record) { r.Header["x-amz-security-token"] = []string{"x"} },
	"number 100001, not in":            func(r *Record) { unplan(r); r.Parts[0].Number = 100_001 },
	"in parts of 1 has 92233720368547": func(r *Record) { endless(r, math.MaxInt) },
	"plan of 9223372036854775807 byte": func(r *Record) { endless(r, 1<<50) },
	"9223372036854775807 bytes in num": func(r *Record) { unplan(r); r.Parts[1].Size = math.MaxInt64 },
}

// endless gives a part a number that only a plan of far too many parts allows.
func endless(r *Record, n int) {
	r.Source, r.Plan = Source{}, chunker.Plan{Size: math.MaxInt64, PartSize: 1}
	r.Parts[0].Number = n
}

// unplan makes the source a stream.
func unplan(r *Record) { r.Source, r.Plan = Source{}, chunker.Plan{} }

func TestInvalid(t *testing.T) {
	for text, change := range invalidRecords {
		t.Run(text, func(t *testing.T) {
			r := validRecord(t)
			change(&r)
			_, err := encode(r, maxSize)
			if e, ok := errors.AsType[*InvalidError](err); !ok || !strings.Contains(err.Error(), text) {
				t.Errorf("encode: %v, %v", e, err)
			}
			var b bytes.Buffer
			if seal(&b, r, maxSize) != nil {
				return // JSON cannot have it
			}
			if got, err := decode(b.Bytes()); err == nil || !reflect.DeepEqual(got, Record{}) {
				t.Errorf("decode gave %+v, %v", got, err)
			}
		})
	}
	stream := validRecord(t)
	unplan(&stream)
	stream.Parts[0].Number, stream.Parts[0].Size = 77, 1<<40
	if _, err := decode(mustEncode(t, stream)); err != nil {
		t.Errorf("a stream: %v", err)
	}
}

// What JSON cannot have, and what would come back changed.
func TestNotWritten(t *testing.T) {
	for text, change := range map[string]func(*Record){
		"algorithm is Algorithm(9)": func(r *Record) { r.Algorithm, r.Parts = 9, nil },
		`"k\xff" is not UTF-8`:      func(r *Record) { r.Key = "k\xff" },
		`"i\xff" is not UTF-8`:      func(r *Record) { r.UploadID = "i\xff" },
		`"h\xff" is not UTF-8`:      func(r *Record) { r.Header["h\xff"] = nil },
		`"m\xff" is not UTF-8`:      func(r *Record) { r.Metadata["m\xff"] = "m" },
		`"l\xff" is not UTF-8`:      func(r *Record) { r.Leftover[0] = "l\xff" },
		`"e\xff" is not UTF-8`:      func(r *Record) { r.Parts[0].ETag = "e\xff" },
		"more than 4096 bytes":      func(r *Record) { r.Metadata["m"] = strings.Repeat("m", 4096) },
	} {
		t.Run(text, func(t *testing.T) {
			r := validRecord(t)
			change(&r)
			_, err := encode(r, 4096)
			if _, ok := errors.AsType[*InvalidError](err); !ok || !strings.Contains(err.Error(), text) {
				t.Errorf("got %.200v", err)
			}
		})
	}
}

// Nothing but the whole file, with no byte changed in what means something, is a
// record.
func TestDamage(t *testing.T) {
	good := mustEncode(t, validRecord(t))
	for n := range good {
		if r, err := decode(good[:n]); err == nil {
			t.Fatalf("%d of %d bytes were taken for %+v", n, len(good), r)
		}
		for _, bit := range []int{n % 5, 5} { // 5 is a letter's case
			bad := bytes.Clone(good)
			bad[n] ^= 1 << bit
			r, err := decode(bad)
			if err == nil {
				// A letter of a member's name in the other case is the same to JSON.
				if mustEqual(t, r, validRecord(t)); !bytes.EqualFold(bad, good) {
					t.Fatalf("bit %d of byte %d was flipped and not missed: %s", bit, n, bad)
				}
			}
		}
	}
	for name, data := range map[string][]byte{
		"nothing": nil, "zeros": make([]byte, 4096), "null": []byte("null"), "object": []byte("{}"),
		"array": []byte("[]"), "twice": append(bytes.Clone(good), good...), "huge version": []byte(`{"version":1e99}`),
		"no record": []byte(`{"version":1,"sum":""}`), "null record": fmt.Appendf(nil, `{"version":1,"sum":%q,"record":null}`, checksum([]byte("null"))),
	} {
		_, err := decode(data)
		if _, ok := errors.AsType[*InvalidError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// White space is for people, and no damage.
func TestIndented(t *testing.T) {
	var b bytes.Buffer
	if err := json.Indent(&b, mustEncode(t, validRecord(t)), "", "\t"); err != nil {
		t.Fatal(err)
	}
	got, err := decode(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	mustEqual(t, got, validRecord(t))
}

// A newer version is not read however it looks; a field that is new in this
// version is ignored.
func TestNewer(t *testing.T) {
	if _, err := decode([]byte(`{"version":2,"sum":[],"record":7}`)); !errors.Is(err, ErrNewer) {
		t.Errorf("newer version: %v", err)
	}
	var e envelope
	if err := json.Unmarshal(mustEncode(t, validRecord(t)), &e); err != nil {
		t.Fatal(err)
	}
	e.Record = append([]byte(`{"hue":{"deep":[1]},`), e.Record[1:]...)
	e.Sum = checksum(e.Record)
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	mustEqual(t, got, validRecord(t))
}

func TestSecret(t *testing.T) {
	secret := []string{
		"Authorization", "authorization", "Proxy-Authorization", "Cookie", "X-Amz-Security-Token", "X-Amz-S3session-Token",
		"X-Amz-Server-Side-Encryption-Customer-Key", "X-Amz-Server-Side-Encryption-Customer-Key-MD5",
		"x-amz-copy-source-server-side-encryption-customer-key", "X-Amz-Copy-Source-Server-Side-Encryption-Customer-Key-Md5",
		"X-Goog-Encryption-Key", "X-Goog-Encryption-Key-Sha256",
	}
	for _, name := range secret {
		r := validRecord(t)
		r.Header[name] = []string{"hunter2"}
		if _, err := encode(r, maxSize); !Secret(name) || err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	public := http.Header{"Content-Type": nil, "X-Amz-Server-Side-Encryption": nil, "X-Amz-Server-Side-Encryption-Customer-Algorithm": nil,
		"X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": nil, "X-Amz-Meta-Token": nil}
	if i := slices.IndexFunc(slices.Collect(maps.Keys(public)), Secret); i >= 0 {
		t.Error("one of the public headers is refused")
	}
	// An endpoint with a password is not repeated either.
	for _, e := range []string{"https://u:hunter2@h", "https://u:hunter2%zz@h"} {
		r := validRecord(t)
		r.Endpoint = e
		if _, err := encode(r, maxSize); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v", err)
		}
	}
}

// What is read is valid, and reads the same again. The input is also tried as
// the record of a file whose checksum is right, or nothing would get past that.
func FuzzDecode(f *testing.F) {
	good := mustEncode(f, validRecord(f))
	var e envelope
	if err := json.Unmarshal(good, &e); err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(e.Record))
	f.Add([]byte(`{"state":"creating","key":"k","token":"t","source":{"path":{"base64":"L/8="}},"plan":{"Size":0,"PartSize":0},"algorithm":"none"}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{"parts":[{"number":1,"digest":"crc32:AAAAAA=="},null],"started":"0001-01-01T00:00:00+01:00","header":{"X":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		files := [][]byte{data}
		if json.Valid(data) {
			files = append(files, fmt.Appendf(nil, `{"version":1,"sum":%q,"record":%s}`, checksum(data), data))
		}
		for _, file := range files {
			r, err := decode(file)
			if err != nil {
				_, invalid := errors.AsType[*InvalidError](err)
				if !invalid && !errors.Is(err, ErrNewer) || !reflect.DeepEqual(r, Record{}) {
					t.Fatalf("got %+v, %v", r, err)
				}
				continue
			}
			// Checked here in other words than the package's own.
			total := 0
			for _, p := range r.Parts {
				if p.ETag == "" || p.Size < 0 || p.Number < 1 {
					t.Fatalf("part %+v", p)
				}
				if r.Source.Path != "" && (int64(p.Number-1)*r.Plan.PartSize > r.Plan.Size || p.Size > r.Plan.PartSize) {
					t.Fatalf("part %+v of %+v", p, r.Plan)
				}
				total += int(p.Size)
			}
			if r.Key == "" || r.Token == "" && r.UploadID != "" && r.State != Aborting && r.State != Orphaned || total < 0 || r.Source.Path != "" && (r.Source.Path[0] != '/' && r.Source.Path[1] != ':' || int64(total) > r.Plan.Size) {
				t.Fatalf("accepted %+v", r)
			}
			again, err := decode(mustEncode(t, r))
			if err != nil {
				t.Fatal(err)
			}
			mustEqual(t, again, r)
		}
	})
}
