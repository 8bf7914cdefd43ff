package rawstore

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
)

type partTag struct {
	PartNumber        int
	ETag              string
	ChecksumCRC64NVME string `xml:",omitempty"`
	Size              int
}

// complete makes the object that is asked for; what the client says of the whole
// is compared, unless the store lies.
func (s *shelf) complete(t target, u *upload, h http.Header, body []byte, l lie) *answer {
	var asked struct{ Part []partTag }
	if err := xml.Unmarshal(body, &asked); err != nil || len(asked.Part) == 0 {
		return refusal(http.StatusBadRequest, "MalformedXML", "that is no list of parts")
	}
	var pieces [][]byte
	var etags []string
	for _, p := range asked.Part {
		part, ok := u.parts[p.PartNumber]
		if !ok || part.etag != p.ETag || p.ChecksumCRC64NVME != "" && p.ChecksumCRC64NVME != part.crc {
			return refusal(http.StatusBadRequest, "InvalidPart", fmt.Sprintf("part %d is not here", p.PartNumber))
		}
		pieces, etags = append(pieces, part.body), append(etags, part.etag)
	}
	o := u.assemble(pieces, etags)
	size := fmt.Sprint(len(o.body))
	switch given := h.Get(crcHeader); {
	case l.twist != nil:
		o = l.about(o, u.assemble(l.twist(pieces), nil))
	case given != "" && given != o.crc:
		return refusal(http.StatusBadRequest, "BadDigest", "the object has another CRC64NVME")
	case h.Get("X-Amz-Mp-Object-Size") != "" && h.Get("X-Amz-Mp-Object-Size") != size:
		return refusal(http.StatusBadRequest, "InvalidRequest", "the object has another size")
	}
	s.objects[t.key] = o
	delete(s.uploads, t.uploadID)
	doc := struct {
		XMLName           xml.Name `xml:"CompleteMultipartUploadResult"`
		Key               string
		ETag              string
		ChecksumCRC64NVME string `xml:",omitempty"`
		ChecksumType      string `xml:",omitempty"`
	}{Key: t.key, ETag: o.etag, ChecksumCRC64NVME: o.crc}
	if o.crc != "" {
		doc.ChecksumType = fullObject
	}
	return document(doc)
}

// assemble makes an object of pieces. Its ETag is that of the ETags, as S3 makes
// it, or without any that of the pieces; its checksum is of the bytes.
func (u *upload) assemble(pieces [][]byte, etags []string) object {
	if etags == nil {
		for _, p := range pieces {
			etags = append(etags, newObject(p).etag)
		}
	}
	h := md5.New()
	for _, tag := range etags {
		sum, _ := hex.DecodeString(strings.Trim(tag, `"`)) // it is one of ours
		h.Write(sum)
	}
	o := object{body: bytes.Join(pieces, nil), meta: u.meta, etag: fmt.Sprintf("%q", fmt.Sprintf("%x-%d", h.Sum(nil), len(etags)))}
	if u.sums {
		o.crc = crcOf(o.body)
	}
	return o
}
