package sink

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// listed is how many names an answer has at most.
const listed = 1000

// list names the objects of a bucket, as either version of the operation does.
func (s *shelf) list(h *head) answer {
	prefix, delimiter := h.param("prefix"), h.param("delimiter")
	after := max(h.param("start-after"), h.param("continuation-token"), h.param("marker"))
	most, err := strconv.Atoi(h.param("max-keys"))
	if err != nil {
		most = listed
	}
	var b strings.Builder
	var last, folder string
	names, truncated := 0, false
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		key, ok := strings.CutPrefix(path, h.bucket+"/")
		if !ok || !strings.HasPrefix(key, prefix) || key <= after || folder != "" && strings.HasPrefix(key, folder) {
			continue
		}
		if names == min(most, listed) {
			truncated = true
			break
		}
		names, last = names+1, key
		if i := strings.Index(key[len(prefix):], delimiter); delimiter != "" && i >= 0 {
			folder = key[:len(prefix)+i+len(delimiter)]
			last = folder + "\U0010ffff"
			b.WriteString("<CommonPrefixes><Prefix>" + escape(folder) + "</Prefix></CommonPrefixes>")
			continue
		}
		o := s.objects[path]
		fmt.Fprintf(&b, "<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>&#34;%s&#34;</ETag><Size>%d</Size></Contents>",
			escape(key), o.made.UTC().Format(time.RFC3339), o.etag, o.size)
	}
	if truncated {
		b.WriteString("<NextContinuationToken>" + escape(last) + "</NextContinuationToken><NextMarker>" + escape(last) + "</NextMarker>")
	}
	return document(fmt.Sprintf("<ListBucketResult><Name>%s</Name><Prefix>%s</Prefix><MaxKeys>%d</MaxKeys><KeyCount>%d</KeyCount><IsTruncated>%t</IsTruncated>%s</ListBucketResult>",
		escape(h.bucket), escape(prefix), most, names, truncated, b.String()))
}

// list names the parts of an upload.
func (u *upload) list(h *head) answer {
	after, _ := strconv.Atoi(h.param("part-number-marker"))
	var b strings.Builder
	names, last, truncated := 0, 0, false
	for _, number := range slices.Sorted(maps.Keys(u.parts)) {
		if number <= after {
			continue
		}
		if truncated = names == listed; truncated {
			break
		}
		p := u.parts[number]
		names, last = names+1, number
		fmt.Fprintf(&b, "<Part><PartNumber>%d</PartNumber><ETag>&#34;%s&#34;</ETag><Size>%d</Size>%s</Part>", number, p.etag, p.size, p.sumElements())
	}
	return document(fmt.Sprintf("<ListPartsResult><Key>%s</Key><NextPartNumberMarker>%d</NextPartNumberMarker><IsTruncated>%t</IsTruncated>%s</ListPartsResult>",
		escape(u.key), last, truncated, b.String()))
}

// other answers what is asked about buckets: there is each, and none has settings.
func (s *shelf) other(h *head) answer {
	switch {
	case h.key != "":
		return refusal(http.StatusNotImplemented, "NotImplemented")
	case h.method == http.MethodGet && h.bucket == "":
		return document("<ListAllMyBucketsResult><Owner><ID>sink</ID></Owner><Buckets><Bucket><Name>bench</Name>" +
			"<CreationDate>2006-03-01T00:00:00Z</CreationDate></Bucket></Buckets></ListAllMyBucketsResult>")
	case h.has("location"):
		return document("<LocationConstraint></LocationConstraint>")
	case h.has("versioning"):
		return document("<VersioningConfiguration></VersioningConfiguration>")
	case h.subresource():
		return refusal(http.StatusNotFound, "NoSuchConfiguration")
	case h.method == http.MethodHead, h.method == http.MethodPut:
		return answer{status: http.StatusOK}
	}
	return refusal(http.StatusNotImplemented, "NotImplemented")
}
