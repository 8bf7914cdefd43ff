package rawstore

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"

	"github.com/minio/crc64nvme"
)

// https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html
const (
	crcHeader  = "X-Amz-Checksum-Crc64nvme"
	fullObject = "FULL_OBJECT"
)

// crcOf is the checksum as S3 writes it: base64 of it in network order.
func crcOf(body []byte) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, crc64nvme.Checksum(body)))
}

// properties are the headers of a request, with those among them that a presigned
// URL has in its query.
func properties(r *http.Request) http.Header {
	h := r.Header.Clone()
	for name, values := range r.URL.Query() {
		if strings.HasPrefix(strings.ToLower(name), "x-amz-") {
			h[http.CanonicalHeaderKey(name)] = values
		}
	}
	return h
}

// take verifies a body by what its request says of it, and returns what is kept
// and what is told: the same but for a lie. Nothing is kept if kept has no ETag.
func take(h http.Header, body []byte, l lie) (kept, told object, refused *answer) {
	crc := h.Get(crcHeader)
	sum := md5.Sum(body)
	if given := h.Get("Content-Md5"); given != "" && given != base64.StdEncoding.EncodeToString(sum[:]) {
		return kept, told, refusal(http.StatusBadRequest, "BadDigest", "the body has another MD5")
	}
	if crc != "" && crc != crcOf(body) {
		return kept, told, refusal(http.StatusBadRequest, "BadDigest", "the body has another CRC64NVME")
	}
	truth := func(body []byte) object {
		o := newObject(body)
		if crc != "" {
			o.crc = crcOf(body)
		}
		return o
	}
	told = truth(body)
	if l.twist == nil {
		return told, told, nil
	}
	if pieces := l.twist([][]byte{body}); len(pieces) > 0 {
		kept = l.about(told, truth(bytes.Join(pieces, nil)))
		told = kept
	}
	return kept, told, nil
}
