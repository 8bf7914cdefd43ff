package wire

import "strings"

// row is one line of a table: an answer that fits all that is set in it has
// its class. What is not set fits everything.
type row struct {
	code   string    // the store's code, exactly
	status int       // the status, or the first of a range up to
	to     int       //   this one
	op     Operation // what was asked
	doubt  bool      // only if an earlier try may have been applied
	says   string    // what the message holds, in lower case

	class Class
	once  bool // Remint the first time in a row, Fatal after that
}

func (r row) fits(o Outcome) bool {
	return (r.code == "" || r.code == o.Code) &&
		(r.status == 0 || r.status <= o.Status && o.Status <= max(r.status, r.to)) &&
		(r.op == 0 || r.op == o.Op) &&
		(!r.doubt || o.Ambiguous) &&
		(r.says == "" || strings.Contains(strings.ToLower(o.Message), r.says))
}

// find returns the first row of a table that fits an answer.
func find(table []row, o Outcome) (row, bool) {
	for _, r := range table {
		if r.fits(o) {
			return r, true
		}
	}
	return row{}, false
}

// codes says what the stores' codes mean, whatever their status; the first row
// that fits decides, and a code without a row leaves it to the status. Each
// row names the stores that were seen to answer so, and their statuses. The
// stores' own lists:
//
//	AWS    https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
//	GCS    https://cloud.google.com/storage/docs/xml-api/reference-status
//	R2     https://developers.cloudflare.com/r2/api/error-codes
//	MinIO  cmd/api-errors.go of https://github.com/minio/minio
//	Ceph   src/rgw of https://github.com/ceph/ceph
var codes = []row{
	// Trouble that passes.
	{code: "InternalError", op: Complete, class: Ambiguous},      // AWS 500 or inside a 200; Ceph 500 while another one runs
	{code: "InternalError", class: Retry},                        // AWS, MinIO, R2 500; some 400
	{code: "RequestTimeout", status: 503, class: Throttle},       // MinIO: a lock was not to be had
	{code: "RequestTimeout", class: Retry},                       // AWS 400: the connection was idle; a new one
	{code: "RequestTimeoutException", class: Retry},              // AWS's SDK knows it
	{code: "OperationAborted", class: Retry},                     // AWS 409: another call on the same thing is under way
	{code: "IncompleteBody", class: Retry},                       // AWS, R2 400: the connection broke
	{code: "ClientDisconnect", op: Complete, class: Ambiguous},   // R2 400: it may have gone on without us
	{code: "ClientDisconnect", class: Retry},                     // R2 400
	{code: "ClientDisconnected", op: Complete, class: Ambiguous}, // MinIO 499: as R2's
	{code: "ClientDisconnected", class: Retry},                   // MinIO 499
	{code: "XMinioServerNotInitialized", class: Retry},           // MinIO 503: a node that starts, which may take long
	{code: "XMinioIAMNotInitialized", class: Retry},              // MinIO 503: the same
	{code: "XMinioBucketMetadataNotInitialized", class: Retry},   // MinIO 503: the same

	// Too much of it.
	{code: "SlowDown", class: Throttle},                  // AWS, GCS, MinIO, Ceph 503
	{code: "SlowDownRead", class: Throttle},              // MinIO 503: too few drives answer
	{code: "SlowDownWrite", class: Throttle},             // MinIO 503: too few drives answer
	{code: "ServiceUnavailable", class: Throttle},        // AWS, GCS, R2 503
	{code: "ServerBusy", class: Throttle},                // MinIO 503
	{code: "TooManyRequests", class: Throttle},           // MinIO, R2 429; R2 also for one key
	{code: "TooManyRequestsException", class: Throttle},  // AWS's SDK knows it
	{code: "Throttling", class: Throttle},                // AWS's SDK knows it
	{code: "ThrottlingException", class: Throttle},       // AWS's SDK knows it
	{code: "ThrottledException", class: Throttle},        // AWS's SDK knows it
	{code: "RequestThrottled", class: Throttle},          // AWS's SDK knows it
	{code: "RequestThrottledException", class: Throttle}, // AWS's SDK knows it
	{code: "RequestLimitExceeded", class: Throttle},      // AWS's SDK knows it
	{code: "BandwidthLimitExceeded", class: Throttle},    // AWS's SDK knows it

	// Not this request, but perhaps a new one: again and again if the time of
	// this one was over, once if a key or a clock may be wrong.
	{code: "ExpiredToken", class: Remint},                                    // GCS 400: the URL; AWS, SeaweedFS 400: the session
	{code: "ExpiredTokenException", class: Remint},                           // AWS's other services say so
	{code: "ExpiredRequest", class: Remint},                                  // R2 400 by its list, 403 as seen
	{code: "RequestExpired", class: Remint},                                  // the same
	{code: "AccessDenied", says: "not valid yet", class: Remint, once: true}, // MinIO 403: made in the future; one clock is wrong
	{code: "AccessDenied", says: "not yet valid", class: Remint, once: true}, // the same in other words
	{code: "AccessDenied", says: "expired", class: Remint},                   // AWS, MinIO, SeaweedFS 403 "Request has expired"; Ceph 403 "The pre-signed URL has expired"
	{code: "RequestTimeTooSkewed", class: Remint, once: true},                // AWS, MinIO 403: by more than 15 minutes
	{code: "TokenRefreshRequired", class: Remint, once: true},                // AWS 400
	{code: "InvalidToken", class: Remint, once: true},                        // AWS 400
	{code: "InvalidTokenId", class: Remint, once: true},                      // MinIO 403
	{code: "InvalidAccessKeyId", class: Remint, once: true},                  // AWS 403: the key was replaced; MinIO 403: the session is over
	{code: "SignatureDoesNotMatch", class: Remint, once: true},               // all 403: the key was replaced; GCS 403: made for more than 7 days
	{code: "Unauthorized", class: Remint, once: true},                        // R2 401
	{code: "AuthenticationRequired", class: Remint, once: true},              // GCS 401: the OAuth token

	// The bucket is elsewhere.
	{code: "AuthorizationHeaderMalformed", class: Redirect},                      // AWS 400: the region is wrong
	{code: "AuthorizationQueryParametersError", says: "region", class: Redirect}, // AWS 400: the same of a URL
	{code: "InvalidRegion", class: Redirect},                                     // MinIO 400
	{code: "PermanentRedirect", class: Redirect},                                 // AWS 301, without a Location
	{code: "TemporaryRedirect", class: Redirect},                                 // AWS 307: a young bucket of another region
	{code: "Redirect", class: Redirect},                                          // AWS 307: the same

	// Other bytes than were hashed.
	{code: "BadDigest", class: Reread},                                     // AWS, GCS, MinIO, R2, Ceph 400
	{code: "InvalidDigest", class: Reread},                                 // AWS 400
	{code: "CrcMismatch", class: Reread},                                   // GCS 400
	{code: "XAmzContentSHA256Mismatch", class: Reread},                     // AWS, MinIO, Ceph 400
	{code: "XAmzContentChecksumMismatch", class: Reread},                   // MinIO 400
	{code: "InvalidPart", op: Complete, says: "same length", class: Fatal}, // R2 400: the plan is wrong
	{code: "InvalidPart", op: Complete, class: Reread},                     // AWS, GCS, MinIO 400: list the parts, send what differs
	{code: "InvalidPart", class: Fatal},                                    // of anything else it makes no sense

	// The upload has ended, one way or the other.
	{code: "NoSuchUpload", op: Complete, class: Ambiguous},                     // all 404: MinIO forgets the upload when it completes
	{code: "NoSuchUpload", class: Restart},                                     // all 404
	{code: "ConditionalRequestConflict", op: Complete, class: Restart},         // AWS 409: it asks for a new upload
	{code: "ConditionalRequestConflict", class: Retry},                         // AWS 409
	{code: "PreconditionFailed", op: Complete, doubt: true, class: Ambiguous},  // MinIO 412: our own object is in the way
	{code: "PreconditionFailed", op: PutObject, doubt: true, class: Ambiguous}, // the same
	{code: "PreconditionFailed", class: Fatal},                                 // AWS, MinIO, R2 412: an object is there

	// What a person has to mend.
	{code: "AccessDenied", class: Fatal},                   // all 403; MinIO 400 for headers that the URL does not cover
	{code: "AllAccessDisabled", class: Fatal},              // AWS 403
	{code: "AccountProblem", class: Fatal},                 // AWS 403
	{code: "InvalidObjectState", class: Fatal},             // AWS 403
	{code: "ObjectLockedByBucketPolicy", class: Fatal},     // R2 403
	{code: "QuotaExceeded", class: Fatal},                  // Ceph 403
	{code: "XMinioAdminBucketQuotaExceeded", class: Fatal}, // MinIO 400
	{code: "XMinioStorageFull", class: Fatal},              // MinIO 507
	{code: "NoSuchBucket", class: Fatal},                   // all 404
	{code: "XMinioObjectExistsAsDirectory", class: Fatal},  // MinIO 400
	{code: "XMinioInvalidObjectName", class: Fatal},        // MinIO 400
	{code: "KeyTooLongError", class: Fatal},                // AWS 400
	{code: "MetadataTooLarge", class: Fatal},               // AWS 400
	{code: "InvalidArgument", class: Fatal},                // all 400; B2 400 "Unsupported header" for a checksum
	{code: "InvalidRequest", class: Fatal},                 // AWS 400, of a checksum's type for one
	{code: "NotImplemented", class: Fatal},                 // R2, MinIO 501 for a header
	{code: "MissingContentLength", class: Fatal},           // AWS 411
	{code: "InvalidPartOrder", class: Fatal},               // AWS 400
	{code: "EntityTooSmall", class: Fatal},                 // AWS 400: a part below the store's least
	{code: "EntityTooLarge", class: Fatal},                 // AWS, R2 400
}

// statuses says what the status line alone means: of an empty body, a proxy's
// page, a code without a row. What is in no row is Fatal.
var statuses = []row{
	{status: 200, to: 299, class: Done},                         // with what it must carry
	{status: 300, to: 399, class: Redirect},                     // never followed silently
	{status: 401, class: Remint, once: true},                    // GCS: the OAuth token; proxies
	{status: 408, class: Retry},                                 // proxies: the request was too slow
	{status: 412, op: Complete, doubt: true, class: Ambiguous},  // our own object is in the way
	{status: 412, op: PutObject, doubt: true, class: Ambiguous}, // the same
	{status: 413, class: Fatal},                                 // proxies: the body is too large
	{status: 417, class: Retry},                                 // proxies that know no Expect
	{status: 425, class: Retry},                                 // too early for this connection
	{status: 429, class: Throttle},                              // anyone
	{status: 499, op: Complete, class: Ambiguous},               // the connection ended while it was at work
	{status: 499, class: Retry},                                 // MinIO, nginx
	{status: 500, class: Retry},                                 // anyone
	{status: 502, class: Retry},                                 // proxies
	{status: 503, class: Throttle},                              // anyone
	{status: 504, class: Retry},                                 // proxies
	{status: 507, class: Fatal},                                 // the store is full: waiting does not mend it
	{status: 520, to: 530, class: Retry},                        // Cloudflare: the store does not answer it
}
