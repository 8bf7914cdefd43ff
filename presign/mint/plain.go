package mint

import (
	"encoding/json"
	"net/http"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
)

// plainTraits are what can be counted on behind a Companion. Nobody says which store
// is there, so the limits are S3's, and the digest of a part is the one that can be
// sent unsigned.
func plainTraits(endpoint string) multipart.Traits {
	return multipart.Traits{Endpoint: endpoint, Algorithm: chunker.MD5, PartsOnly: true, Unseen: true}
}

// missesBatch reports whether a refusal means that there is no call for many parts:
// the route is unknown, or "batch" was read as the number of a part. Uppy makes that
// call only in some of its versions, and services that were written for it may not
// have it.
func missesBatch(err error) bool {
	switch statusOf(err) {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

// sdkError is how Companion shows an error of the AWS SDK for JavaScript, unless it is
// run for production.
type sdkError struct {
	Name     string `json:"name"`
	Metadata struct {
		Status    int    `json:"httpStatusCode"`
		RequestID string `json:"requestId"`
	} `json:"$metadata"`
}

// readError reads the "error" of a refusal: a sentence, or what the store has said.
func readError(raw json.RawMessage) (sentence string, store *storeError) {
	if json.Unmarshal(raw, &sentence) == nil {
		return sentence, nil
	}
	var e sdkError
	if json.Unmarshal(raw, &e) != nil || e.Metadata.Status == 0 {
		return "", nil
	}
	return "", &storeError{Status: e.Metadata.Status, Code: e.Name, RequestID: e.Metadata.RequestID}
}
