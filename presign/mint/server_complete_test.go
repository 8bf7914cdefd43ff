package mint

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// sum is the CRC64NVME of a text, in base64.
func sum(t *testing.T, text string) string {
	t.Helper()
	d, err := chunker.Sum(strings.NewReader(text), chunker.CRC64NVME)
	if err != nil {
		t.Fatal(err)
	}
	return d.Base64()
}

// Digest and length are signed, the whole's checksum goes to the store, and what the
// store says comes back.
func TestServerComplete(t *testing.T) {
	l := newServerLab(t)
	u := l.begin(`{"filename":"a b.txt","type":"text/plain","metadata":{"Name":"Grüße","chunkup-token":"t1"},"size":10,
		"headers":{"cache-control":"no-cache"},"algorithm":"crc64nvme","fullObject":true}`)
	var b batchResponse
	l.ask("GET", at(u, "/batch", queryPartNumbers, "1,2", querySizes, "6,4", queryChecksumHeader, "x-amz-checksum-crc64nvme",
		queryChecksums, sum(t, "hello ")+","+sum(t, "you!")), "").read(t, &b)
	if b.Parts["1"].Headers["X-Amz-Checksum-Crc64nvme"] != sum(t, "hello ") || b.PresignedURLs["2"] != b.Parts["2"].URL {
		t.Errorf("%+v", b)
	}
	parts := fmt.Sprintf(`"parts":[{"PartNumber":1,"ETag":%q,"ChecksumCRC64NVME":%q},{"PartNumber":2,"ETag":%q}]`,
		l.send(b.Parts["1"], []byte("hello ")), sum(t, "hello "), l.send(b.Parts["2"], []byte("you!")))
	var listed []part
	l.ask("GET", at(u, ""), "").read(t, &listed)
	if len(listed) != 2 || listed[1].Size != 4 || listed[0].ChecksumCRC64NVME != sum(t, "hello ") {
		t.Errorf("%+v", listed)
	}
	var done completeResponse
	l.ask("POST", at(u, "/complete"), fmt.Sprintf(`{%s,"size":10,"checksum":%q,"createOnly":true}`, parts, sum(t, "hello you!"))).read(t, &done)
	if done.Key != u.Key || done.Bucket != "bucket" || done.Location != "http://mem/bucket/"+strings.ReplaceAll(u.Key, " ", "%20") ||
		done.Checksum != sum(t, "hello you!") || done.ETag == "" {
		t.Errorf("%+v", done)
	}
	var has objectInfo
	l.ask("GET", pathObject+"?key="+strings.ReplaceAll(u.Key, " ", "%20")+"&uploadId="+u.UploadID, "").read(t, &has)
	if has.Size != 10 || has.Metadata["chunkup-token"] != "t1" || has.Metadata["name"] != "=?UTF-8?B?R3LDvMOfZQ==?=" {
		t.Errorf("%+v", has)
	}
	o, _ := l.Object(u.Key)
	if string(o.Body) != "hello you!" || o.Header.Get("Content-Type") != "text/plain" || o.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("%q %v", o.Body, o.Header)
	}
}

// What does not fit together makes no object; what is too large is dropped as well.
func TestServerCompleteRefusals(t *testing.T) {
	good := func(tags map[string]string) string {
		return fmt.Sprintf(`"parts":[{"PartNumber":1,"ETag":%q},{"PartNumber":2,"ETag":%q}]`, tags["1"], tags["2"])
	}
	for name, c := range map[string]struct {
		create string
		body   func(tags map[string]string) string
		status int
		left   int // uploads
		as     string
	}{
		"size of the object": {`{"filename":"a","size":9}`, good, 400, 1, aliceToken},
		"size that is said":  {`{"filename":"a"}`, func(g map[string]string) string { return good(g) + `,"size":11` }, 400, 1, aliceToken},
		"over the limit":     {`{"filename":"a"}`, good, 413, 0, carolToken},
		"a part of another":  {`{"filename":"a"}`, func(g map[string]string) string { return strings.Replace(good(g), g["1"][1:9], "00000000", 1) }, 400, 1, aliceToken},
		"a part that is not": {`{"filename":"a"}`, func(g map[string]string) string { return strings.Replace(good(g), `:2`, `:3`, 1) }, 400, 1, aliceToken},
		"another digest": {`{"filename":"a","algorithm":"crc64nvme"}`, func(g map[string]string) string {
			return strings.Replace(good(g), `}`, `,"ChecksumCRC64NVME":"AAAAAAAAAAA="}`, 1)
		}, 400, 1, aliceToken},
		"sum without kind":      {`{"filename":"a"}`, func(g map[string]string) string { return good(g) + `,"checksum":"AAAAAAAAAAA="` }, 400, 1, aliceToken},
		"sum that is none":      {`{"filename":"a","algorithm":"crc64nvme","fullObject":true}`, func(g map[string]string) string { return good(g) + `,"checksum":"AAAA"` }, 400, 1, aliceToken},
		"sum of a composite":    {`{"filename":"a","algorithm":"crc64nvme"}`, func(g map[string]string) string { return good(g) + `,"checksum":"AAAAAAAAAAA="` }, 400, 1, aliceToken},
		"sum of another":        {`{"filename":"a","algorithm":"crc64nvme","fullObject":true}`, func(g map[string]string) string { return good(g) + `,"checksum":"AAAAAAAAAAA="` }, 400, 1, aliceToken},
		"the store is in doubt": {`{"filename":"a"}`, good, 502, 1, bobToken},
	} {
		t.Run(name, func(t *testing.T) {
			l := newServerLab(t)
			if c.as == bobToken {
				l.Script(reset(wire.Complete))
			}
			u, tags := l.begin(c.create, as(c.as)), map[string]string{}
			tags["1"], tags["2"] = l.sendPart(u, "1", "hello ", as(c.as)), l.sendPart(u, "2", "you!x", as(c.as))
			if name != "over the limit" {
				tags["2"] = l.sendPart(u, "2", "you!", as(c.as))
			}
			a := l.ask("POST", at(u, "/complete"), "{"+c.body(tags)+"}", as(c.as))
			if a.status != c.status || l.Uploads() != c.left || l.object(u.Key) != "" {
				t.Errorf("%d %s, %d uploads, object %q", a.status, a.text, l.Uploads(), l.object(u.Key))
			}
			if wrong := strings.HasPrefix(name, "a part") || name == "another digest"; wrong != strings.Contains(a.text, "InvalidPart") {
				t.Error(a.text)
			}
		})
	}
}

// A list with a part twice, or in disorder, is not taken to the store.
func TestServerCompleteOrder(t *testing.T) {
	l := newServerLab(t)
	u := l.begin(`{"filename":"a"}`)
	one := fmt.Sprintf(`{"PartNumber":1,"ETag":%q}`, l.sendPart(u, "1", "hello"))
	two := fmt.Sprintf(`{"PartNumber":2,"ETag":%q}`, l.sendPart(u, "2", "you"))
	for _, parts := range []string{one + "," + one, two + "," + one} {
		a := l.ask("POST", at(u, "/complete"), `{"parts":[`+parts+`]}`)
		if a.status != 400 || strings.Contains(a.text, `"store"`) || l.Count(wire.Complete) != 0 {
			t.Errorf("%d %s", a.status, a.text)
		}
	}
}

// A part that grew after it was signed is found by its size at the store; an ETag may
// come without its quotes.
func TestServerCompleteGrown(t *testing.T) {
	l := newServerLab(t)
	u := l.begin(`{"filename":"a"}`, as(carolToken))
	tag := l.sendPart(u, "1", "0123456789", as(carolToken))
	body := fmt.Sprintf(`{"parts":[{"PartNumber":1,"ETag":%q}]}`, strings.Trim(tag, `"`))
	grown := l.sendPart(u, "1", "0123456789x", as(carolToken))
	if a := l.ask("POST", at(u, "/complete"), body, as(carolToken)); a.status != 400 || !strings.Contains(a.text, "InvalidPart") {
		t.Errorf("%d %s", a.status, a.text)
	}
	l.sendPart(u, "1", "0123456789", as(carolToken))
	l.ask("POST", at(u, "/complete"), body, as(carolToken)).read(t, &completeResponse{})
	if l.object(u.Key) != "0123456789" || grown == tag {
		t.Errorf("%q", l.object(u.Key))
	}
}

// An object that is there is not replaced by one who asks for that; a store that cannot
// keep it is not asked.
func TestServerCreateOnly(t *testing.T) {
	l := newServerLab(t)
	create := `{"filename":"a","key":"team/a"}`
	u, later := l.begin(create, as(bobToken)), l.begin(create, as(bobToken))
	body := func(u createResponse, text string) string {
		return fmt.Sprintf(`{"createOnly":true,"parts":[{"PartNumber":1,"ETag":%q}]}`, l.sendPart(u, "1", text, as(bobToken)))
	}
	l.ask("POST", at(u, "/complete"), body(u, "one"), as(bobToken)).read(t, &completeResponse{})
	if a := l.ask("POST", at(later, "/complete"), body(later, "two"), as(bobToken)); a.status != http.StatusPreconditionFailed {
		t.Errorf("%d %s", a.status, a.text)
	}
	var p paramsResponse
	l.ask("GET", pathParams+"?key=team/b&size=1&createOnly=true", "", as(bobToken)).read(t, &p)
	if p.Headers["If-None-Match"] != "*" {
		t.Errorf("%+v", p)
	}
	tr := l.Traits()
	tr.CreateOnly = false
	l.SetTraits(tr)
	if a := l.ask("POST", at(later, "/complete"), body(later, "two"), as(bobToken)); a.status != 400 || l.object("team/a") != "one" {
		t.Errorf("%d %s", a.status, a.text)
	}
	if a := l.ask("GET", pathParams+"?key=team/b&size=1&createOnly=true", "", as(bobToken)); a.status != 400 {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// What the service says of itself is what this caller may.
func TestServerAbout(t *testing.T) {
	l := newServerLab(t, func(o *Options) { o.MaxSize = 1000; o.MaxParts = 7 })
	for token, want := range map[string]About{
		aliceToken: {MaxSize: 1000}, bobToken: {MaxSize: 1000, ChooseKeys: true, Prefix: "team/"}, carolToken: {MaxSize: 10},
	} {
		var got About
		l.ask("GET", pathAbout, "", as(token)).read(t, &got)
		if got.Version != Version || got.Bucket != "bucket" || got.MaxParts != 7 || got.MaxSize != want.MaxSize ||
			got.ChooseKeys != want.ChooseKeys || got.Prefix != want.Prefix || len(got.Headers) != 5 || got.Store != storeOf(l.Traits()) {
			t.Errorf("%+v", got)
		}
	}
	l.SetTraits(multipart.Traits{Limits: chunker.Limits{MaxParts: 3}})
	u := l.begin(`{"filename":"a"}`)
	if a := l.ask("GET", at(u, "/4"), ""); a.status != 400 || !strings.Contains(a.text, "between 1 and 3") {
		t.Errorf("%d %s", a.status, a.text)
	}
}
