package mint

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"
)

// maxSeal bounds an upload id as clients send it, in bytes. Stores' own have up to
// some hundred.
const maxSeal = 4 << 10

// sealed is what an upload id tells this service: all that it has to know of an upload
// but who may use it, so that it needs no memory for that.
type sealed struct {
	ID         string `json:"u"` // the store's
	Begun      int64  `json:"b"` // Unix seconds
	Size       *int64 `json:"s,omitempty"`
	Algorithm  string `json:"a,omitempty"`
	FullObject bool   `json:"f,omitempty"`
	Record     string `json:"r,omitempty"` // its entry in the ledger
}

// sealer makes the upload ids that clients see.
type sealer struct {
	secret []byte
	bucket string
}

// seal writes an upload of a caller and a key: base64url(JSON) + "." +
// base64url(HMAC-SHA256). It fits into one element of a path, and is the same each time.
func (s sealer) seal(caller, key string, v sealed) string {
	body, _ := json.Marshal(v) // of strings and numbers, which never fails
	payload := base64.RawURLEncoding.EncodeToString(body)
	return payload + "." + base64.RawURLEncoding.EncodeToString(s.sum(payload, caller, key))
}

// open reads what seal has written for this caller and key; of anything else it says
// no more than that it is not.
func (s sealer) open(caller, key, text string) (sealed, bool) {
	payload, sum, found := strings.Cut(text, ".")
	if !found || len(text) > maxSeal {
		return sealed{}, false
	}
	mac, err := decode64(sum)
	if err != nil || !hmac.Equal(mac, s.sum(payload, caller, key)) {
		return sealed{}, false
	}
	body, err := decode64(payload)
	if err != nil {
		return sealed{}, false
	}
	var v sealed
	return v, json.Unmarshal(body, &v) == nil
}

// sum binds a payload to a caller, the bucket and a key. Each is preceded by its
// length, so that none can lend characters to the next.
func (s sealer) sum(payload, caller, key string) []byte {
	h := hmac.New(sha256.New, s.secret)
	h.Write([]byte("chunkup upload\n"))
	for _, field := range []string{payload, caller, s.bucket, key} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
		h.Write([]byte(field))
	}
	return h.Sum(nil)
}

// age is how long ago an upload was begun.
func (v sealed) age() time.Duration { return time.Since(time.Unix(v.Begun, 0)) }

// decode64 reads base64url that has the one right spelling of its bytes, so that
// nothing which was changed is taken for what it was. (The package's decoder skips
// line breaks, even a strict one.)
func decode64(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, base64.CorruptInputError(strings.IndexAny(text, "\r\n"))
	}
	return base64.RawURLEncoding.Strict().DecodeString(text)
}
