package chunker_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/chunker"
)

// algorithms are all but None.
var algorithms = []chunker.Algorithm{chunker.CRC64NVME, chunker.CRC32C, chunker.CRC32, chunker.SHA256, chunker.MD5}

func TestAlgorithms(t *testing.T) {
	for _, c := range []struct {
		algorithm chunker.Algorithm
		name      string
		size      int
		combines  bool
		check     string // digest of "123456789"
	}{
		// The CRCs' check values: https://reveng.sourceforge.io/crc-catalogue/
		{chunker.CRC64NVME, "crc64nvme", 8, true, "ae8b14860a799888"},
		{chunker.CRC32C, "crc32c", 4, true, "e3069283"},
		{chunker.CRC32, "crc32", 4, true, "cbf43926"},
		{chunker.SHA256, "sha256", 32, false, "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"},
		{chunker.MD5, "md5", 16, false, "25f9e794323b453885f5181f1b624d0b"},
		{chunker.None, "none", 0, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.algorithm.String() != c.name || c.algorithm.Size() != c.size || c.algorithm.Combines() != c.combines {
				t.Errorf("got %s, %d bytes, combines %t", c.algorithm, c.algorithm.Size(), c.algorithm.Combines())
			}
			for _, name := range []string{c.name, strings.ToUpper(c.name)} {
				if a, err := chunker.ParseAlgorithm(name); a != c.algorithm || err != nil {
					t.Errorf("ParseAlgorithm(%q) = %v, %v", name, a, err)
				}
			}
			d, err := chunker.Sum(strings.NewReader("123456789"), c.algorithm)
			if err != nil || d.Hex() != c.check || d.Algorithm() != c.algorithm {
				t.Errorf("got %s of %s, %v; want %s", d.Hex(), d.Algorithm(), err, c.check)
			}
		})
	}
}

func TestUnknownAlgorithm(t *testing.T) {
	for _, name := range []string{"", "sha1", "crc64", "crc-32", " md5", "Algorithm(9)"} {
		if _, err := chunker.ParseAlgorithm(name); !errors.Is(err, chunker.ErrUnknownAlgorithm) || !strings.Contains(err.Error(), "crc64nvme") {
			t.Errorf("ParseAlgorithm(%q): %v", name, err)
		}
	}
	a := chunker.Algorithm(9)
	if a.String() != "Algorithm(9)" || a.Size() != 0 || a.Combines() {
		t.Errorf("got %s, %d bytes, combines %t", a, a.Size(), a.Combines())
	}
	if d, err := chunker.NewDigest(a, nil); err == nil {
		t.Errorf("NewDigest gave %v", d)
	}
	mustPanic(t, func() { a.New() })
	mustPanic(t, func() { chunker.None.New() })
	mustPanic(t, func() { chunker.Sum(strings.NewReader(""), a) })
}

func TestDigest(t *testing.T) {
	sum, err := hex.DecodeString("ae8b14860a799888")
	if err != nil {
		t.Fatal(err)
	}
	d, err := chunker.NewDigest(chunker.CRC64NVME, sum)
	if err != nil {
		t.Fatal(err)
	}
	clear(sum) // the digest keeps no reference
	if d.String() != "crc64nvme:rosUhgp5mIg=" || d.Base64() != "rosUhgp5mIg=" || d.Hex() != "ae8b14860a799888" || d.IsZero() {
		t.Errorf("got %s, %s, %s, zero %t", d, d.Base64(), d.Hex(), d.IsZero())
	}
	clear(d.Bytes()) // and gives none away
	if again, err := chunker.ParseDigest(d.Algorithm(), d.Base64()); again != d || err != nil {
		t.Errorf("parsed %v, %v", again, err)
	}

	// The CRC of no data is a digest; no digest is none.
	empty, err := chunker.NewDigest(chunker.CRC32C, make([]byte, 4))
	if err != nil || empty.IsZero() || empty.String() != "crc32c:AAAAAA==" {
		t.Errorf("all zero bytes: %v, %v", empty, err)
	}
	var zero chunker.Digest
	if !zero.IsZero() || zero.Bytes() != nil || zero.Base64() != "" || zero.Hex() != "" || zero.String() != "none" || zero.Algorithm() != chunker.None {
		t.Errorf("zero: %v, %v", zero, zero.Bytes())
	}
	if d, err := chunker.ParseDigest(chunker.None, ""); d != zero || err != nil {
		t.Errorf("parsed none: %v, %v", d, err)
	}
	if other, _ := chunker.NewDigest(chunker.CRC32, make([]byte, 4)); other == empty {
		t.Error("digests of two algorithms are equal")
	}
}

func TestDigestRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		algorithm chunker.Algorithm
		text      string
		err       string
	}{
		"empty":          {chunker.CRC32, "", "crc32 checksum has 0 base64 characters instead of 8"},
		"short":          {chunker.CRC64NVME, "AAAAAA==", "crc64nvme checksum has 8 base64 characters instead of 12"},
		"composite":      {chunker.CRC32, "AAAAAA==-3", "crc32 checksum has 10 base64 characters instead of 8"},
		"any for none":   {chunker.None, "AAAA", "checksum has 4 base64 characters instead of 0"},
		"unknown":        {chunker.Algorithm(9), "", "Algorithm(9) checksum is of an unknown algorithm"},
		"letters":        {chunker.CRC32, "*AAAAA==", `crc32 checksum "*AAAAA==" is not base64`},
		"trailing bits":  {chunker.CRC32, "AAAAAB==", `crc32 checksum "AAAAAB==" is not canonical base64`},
		"line break":     {chunker.CRC32, "AAAAAA\n=", `crc32 checksum "AAAAAA\n=" is not base64`},
		"one byte fewer": {chunker.CRC32, "AAAA\n\n\n\n", "crc32 checksum has 3 bytes instead of 4"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := chunker.ParseDigest(c.algorithm, c.text)
			if _, ok := errors.AsType[*chunker.DigestError](err); !ok || !d.IsZero() || err.Error() != c.err {
				t.Errorf("got %v, %v\nwant %s", d, err, c.err)
			}
		})
	}
	if d, err := chunker.NewDigest(chunker.None, []byte{1}); err == nil {
		t.Errorf("NewDigest gave %v", d)
	}
}

func FuzzParseDigest(f *testing.F) {
	f.Add(uint8(chunker.CRC64NVME), "rosUhgp5mIg=")
	f.Add(uint8(chunker.CRC32), "AAAAAB==")
	f.Add(uint8(chunker.MD5), "AAAAAAAAAAAAAAAAAAAAA\n==")
	f.Add(uint8(chunker.None), "")
	f.Add(uint8(200), "AAAA")
	f.Fuzz(func(t *testing.T, a uint8, text string) {
		algorithm := chunker.Algorithm(a)
		d, err := chunker.ParseDigest(algorithm, text)
		if err != nil {
			if _, ok := errors.AsType[*chunker.DigestError](err); !ok || !d.IsZero() {
				t.Fatalf("%v, %v", d, err)
			}
			return
		}
		if d.Algorithm() != algorithm || d.Base64() != text || len(d.Bytes()) != algorithm.Size() ||
			base64.StdEncoding.EncodeToString(d.Bytes()) != text || hex.EncodeToString(d.Bytes()) != d.Hex() {
			t.Fatalf("%q became %v", text, d)
		}
		if again, err := chunker.NewDigest(algorithm, d.Bytes()); again != d || err != nil {
			t.Fatalf("%v became %v, %v", d, again, err)
		}
	})
}
