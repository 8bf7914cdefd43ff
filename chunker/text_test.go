package chunker_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/chunker"
)

func TestAlgorithmText(t *testing.T) {
	for _, a := range append(algorithms, chunker.None) {
		text, err := a.MarshalText()
		if err != nil || string(text) != a.String() {
			t.Errorf("%s: %s, %v", a, text, err)
		}
		again := chunker.Algorithm(9)
		if err := again.UnmarshalText(text); err != nil || again != a {
			t.Errorf("%s: became %s, %v", a, again, err)
		}
	}
	if text, err := chunker.Algorithm(9).MarshalText(); !errors.Is(err, chunker.ErrUnknownAlgorithm) || text != nil {
		t.Errorf("unknown: %s, %v", text, err)
	}
	a := chunker.MD5
	if err := a.UnmarshalText([]byte("sha1")); !errors.Is(err, chunker.ErrUnknownAlgorithm) || a != chunker.MD5 {
		t.Errorf("unknown: %s, %v", a, err)
	}
}

func TestDigestText(t *testing.T) {
	type kept struct {
		Algorithm chunker.Algorithm
		Digest    chunker.Digest
		Omitted   chunker.Digest `json:",omitzero"`
	}
	was := kept{Algorithm: chunker.CRC64NVME, Digest: checksum(t, chunker.CRC64NVME, []byte("123456789"))}
	text, err := json.Marshal(was)
	if want := `{"Algorithm":"crc64nvme","Digest":"crc64nvme:rosUhgp5mIg="}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v; want %s", text, err, want)
	}
	var is kept
	if err := json.Unmarshal(text, &is); err != nil || is != was {
		t.Errorf("became %+v, %v", is, err)
	}

	// No digest replaces one that was there; the CRC of no data is a digest.
	if text, err := (chunker.Digest{}).MarshalText(); err != nil || text == nil || len(text) != 0 {
		t.Errorf("zero: %q, %v", text, err)
	}
	if err := is.Digest.UnmarshalText(nil); err != nil || !is.Digest.IsZero() {
		t.Errorf("zero became %v, %v", is.Digest, err)
	}
	empty := checksum(t, chunker.CRC32, nil)
	if text, err := empty.MarshalText(); err != nil || is.Digest.UnmarshalText(text) != nil || is.Digest != empty {
		t.Errorf("%s became %v, %v", text, is.Digest, err)
	}
}

func TestDigestTextRefuses(t *testing.T) {
	was := checksum(t, chunker.MD5, nil)
	for text, want := range map[string]string{
		"AAAAAA==":         `checksum is not written as algorithm, ":" and base64`,
		"none":             `checksum is not written as algorithm, ":" and base64`,
		"none:":            `checksum is of "none", which no checksum is`,
		"CRC32:AAAAAA==":   `crc32 checksum is of "CRC32", which no checksum is`,
		"crc32:AAAAAA==-2": "crc32 checksum has 10 base64 characters instead of 8",
		"crc32: AAAAA==":   `crc32 checksum " AAAAA==" is not base64`,
	} {
		d := was
		err := d.UnmarshalText([]byte(text))
		if _, ok := errors.AsType[*chunker.DigestError](err); !ok || err.Error() != want || d != was {
			t.Errorf("%q: %v, %v\nwant %s", text, d, err, want)
		}
	}
	d := was
	if err := d.UnmarshalText([]byte("sha1:AAAA")); !errors.Is(err, chunker.ErrUnknownAlgorithm) || d != was {
		t.Errorf("unknown: %v, %v", d, err)
	}
}

func FuzzDigestText(f *testing.F) {
	f.Add("")
	f.Add("crc64nvme:rosUhgp5mIg=")
	f.Add("md5:" + strings.Repeat("A", 22) + "==")
	f.Add("none:")
	f.Fuzz(func(t *testing.T, text string) {
		var d chunker.Digest
		if err := d.UnmarshalText([]byte(text)); err != nil {
			return
		}
		if again, err := d.MarshalText(); err != nil || string(again) != text {
			t.Fatalf("%q became %v, %q, %v", text, d, again, err)
		}
	})
}
