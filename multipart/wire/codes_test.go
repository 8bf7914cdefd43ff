package wire

import "testing"

// stores is what stores were seen or are documented to answer, with what is to
// be done. It is written down apart from the tables of the code.
var stores = []struct {
	store   string
	status  int
	code    string
	message string
	op      Operation
	flag    string // "again": an earlier try is in doubt; "late": expired by the clock; "new": renewed already
	want    Class
}{
	{"AWS", 500, "InternalError", "We encountered an internal error. Please try again.", PutPart, "", Retry},
	{"AWS", 200, "InternalError", "", PutPart, "", Retry},
	{"AWS", 200, "InternalError", "", Complete, "", Ambiguous},
	{"Ceph", 500, "InternalError", "This multipart completion is already in progress", Complete, "", Ambiguous},
	{"some", 400, "InternalError", "", PutPart, "", Retry},
	{"some", 400, "InternalError", "", Complete, "", Ambiguous},
	{"AWS", 503, "ServiceUnavailable", "", PutPart, "", Throttle},
	{"R2", 503, "ServiceUnavailable", "", Complete, "", Ambiguous},
	{"AWS", 503, "SlowDown", "Please reduce your request rate.", PutPart, "", Throttle},
	{"AWS", 503, "SlowDown", "Please reduce your request rate.", Create, "", Throttle},
	{"some", 400, "SlowDown", "", Complete, "", Throttle},
	{"AWS", 200, "SlowDown", "", Complete, "", Ambiguous},
	{"MinIO", 503, "SlowDownRead", "", List, "", Throttle},
	{"MinIO", 503, "SlowDownWrite", "", PutPart, "", Throttle},
	{"AWS", 400, "RequestTimeout", "Your socket connection to the server was not read from or written to", PutPart, "", Retry},
	{"AWS", 400, "RequestTimeout", "", Complete, "", Retry},
	{"MinIO", 503, "RequestTimeout", "A timeout occurred while trying to lock a resource", PutPart, "", Throttle},
	{"MinIO", 503, "RequestTimeout", "", Complete, "", Ambiguous},
	{"MinIO", 429, "TooManyRequests", "", PutPart, "", Throttle},
	{"R2", 429, "TooManyRequests", "", PutObject, "", Throttle},
	{"R2", 429, "TooManyRequests", "", Complete, "", Throttle},
	{"AWS", 409, "OperationAborted", "", PutPart, "", Retry},
	{"AWS", 409, "ConditionalRequestConflict", "", PutObject, "", Retry},
	{"AWS", 409, "ConditionalRequestConflict", "", Complete, "", Restart},
	{"AWS", 412, "PreconditionFailed", "", PutObject, "", Fatal},
	{"AWS", 412, "PreconditionFailed", "", PutObject, "again", Ambiguous},
	{"AWS", 412, "PreconditionFailed", "", Complete, "", Fatal},
	{"MinIO", 412, "PreconditionFailed", "", Complete, "again", Ambiguous},
	{"MinIO", 412, "", "", Complete, "again", Ambiguous},
	{"R2", 412, "PreconditionFailed", "", Create, "again", Fatal},
	{"AWS", 404, "NoSuchUpload", "", Complete, "", Ambiguous},
	{"MinIO", 404, "NoSuchUpload", "", Complete, "again", Ambiguous},
	{"all", 404, "NoSuchUpload", "", PutPart, "", Restart},
	{"all", 404, "NoSuchUpload", "", List, "", Restart},
	{"AWS", 400, "InvalidPart", "One or more of the specified parts could not be found.", Complete, "", Reread},
	{"MinIO", 400, "InvalidPart", "", Complete, "", Reread},
	{"R2", 400, "InvalidPart", "All non-trailing parts must have the same length.", Complete, "", Fatal},
	{"AWS", 400, "InvalidPartOrder", "", Complete, "", Fatal},
	{"AWS", 400, "EntityTooSmall", "", Complete, "", Fatal},
	{"AWS", 400, "EntityTooLarge", "", PutPart, "", Fatal},
	{"R2", 400, "EntityTooLarge", "", PutObject, "", Fatal},
	{"nginx", 413, "", "413 Request Entity Too Large nginx", PutPart, "", Fatal},
	{"AWS", 400, "BadDigest", "", PutPart, "", Reread},
	{"GCS", 400, "BadDigest", "", PutPart, "", Reread},
	{"AWS", 400, "InvalidDigest", "", PutPart, "", Reread},
	{"GCS", 400, "CrcMismatch", "", PutPart, "", Reread},
	{"AWS", 400, "XAmzContentSHA256Mismatch", "", PutPart, "", Reread},
	{"MinIO", 400, "XAmzContentChecksumMismatch", "", PutPart, "", Reread},
	{"AWS", 400, "IncompleteBody", "", PutPart, "", Retry},
	{"R2", 400, "ClientDisconnect", "", PutPart, "", Retry},
	{"R2", 400, "ClientDisconnect", "", Complete, "", Ambiguous},
	{"MinIO", 499, "ClientDisconnected", "", PutPart, "", Retry},
	{"MinIO", 499, "ClientDisconnected", "", Complete, "", Ambiguous},
	{"AWS", 411, "MissingContentLength", "", PutPart, "", Fatal},
	{"AWS", 403, "RequestTimeTooSkewed", "", PutPart, "", Remint},
	{"AWS", 403, "RequestTimeTooSkewed", "", PutPart, "new", Fatal},
	{"AWS", 403, "RequestTimeTooSkewed", "", Create, "", Remint},
	{"AWS", 400, "TokenRefreshRequired", "", Create, "", Remint},
	{"AWS", 400, "TokenRefreshRequired", "", Create, "new", Fatal},
	{"AWS", 400, "InvalidToken", "", PutPart, "", Remint},
	{"AWS", 400, "InvalidToken", "", PutPart, "new", Fatal},
	{"MinIO", 403, "InvalidTokenId", "", PutPart, "", Remint},
	{"MinIO", 403, "InvalidTokenId", "", PutPart, "new", Fatal},
	{"AWS", 403, "AccessDenied", "Access Denied", PutPart, "", Fatal},
	{"AWS", 403, "AccessDenied", "There were headers present in the request which were not signed", PutPart, "", Fatal},
	{"MinIO", 400, "AccessDenied", "There were headers present in the request which were not signed", PutPart, "", Fatal},
	{"AWS", 403, "InvalidAccessKeyId", "", PutPart, "", Remint},
	{"AWS", 403, "InvalidAccessKeyId", "", PutPart, "new", Fatal},
	{"AWS", 403, "InvalidAccessKeyId", "", Head, "", Remint},
	{"AWS", 403, "SignatureDoesNotMatch", "", PutPart, "", Remint},
	{"AWS", 403, "SignatureDoesNotMatch", "", PutPart, "new", Fatal},
	{"AWS", 400, "AuthorizationHeaderMalformed", "the region 'us-east-1' is wrong; expecting 'eu-west-1'", Create, "", Redirect},
	{"AWS", 400, "AuthorizationQueryParametersError", "Error parsing the X-Amz-Credential parameter; the region 'us-east-1' is wrong; expecting 'eu-west-1'", PutPart, "", Redirect},
	{"AWS", 400, "AuthorizationQueryParametersError", "X-Amz-Expires must be less than a week (in seconds)", PutPart, "", Fatal},
	{"AWS", 301, "PermanentRedirect", "", PutPart, "", Redirect},
	{"AWS", 307, "TemporaryRedirect", "", PutPart, "", Redirect},
	{"AWS", 307, "Redirect", "", Complete, "", Redirect},
	{"MinIO", 400, "InvalidRegion", "Region does not match; expecting 'eu-west-1'", Create, "", Redirect},
	{"all", 404, "NoSuchBucket", "", Create, "", Fatal},
	{"AWS", 400, "KeyTooLongError", "", Create, "", Fatal},
	{"AWS", 400, "MetadataTooLarge", "", Create, "", Fatal},
	{"B2", 400, "InvalidArgument", "Unsupported header 'x-amz-checksum-crc32' received for this API call.", PutPart, "", Fatal},
	{"AWS", 400, "InvalidRequest", "Checksum Type mismatch occurred, expected checksum Type: crc32", PutPart, "", Fatal},
	{"R2", 501, "NotImplemented", "Header 'x-amz-checksum-crc32' with value 'x' not implemented", PutPart, "", Fatal},
	{"MinIO", 507, "XMinioStorageFull", "", PutPart, "", Fatal},
	{"MinIO", 507, "XMinioStorageFull", "", Complete, "", Fatal},
	{"MinIO", 400, "XMinioAdminBucketQuotaExceeded", "", PutPart, "", Fatal},
	{"Ceph", 403, "QuotaExceeded", "", PutPart, "", Fatal},
	{"MinIO", 503, "XMinioServerNotInitialized", "", PutPart, "", Retry},
	{"MinIO", 503, "XMinioIAMNotInitialized", "", PutPart, "", Retry},
	{"MinIO", 503, "XMinioBucketMetadataNotInitialized", "", PutPart, "", Retry},
	{"MinIO", 503, "ServerBusy", "", PutPart, "", Throttle},
	{"AWS", 403, "InvalidObjectState", "", PutPart, "", Fatal},
	{"R2", 403, "ObjectLockedByBucketPolicy", "", PutPart, "", Fatal},
	{"AWS", 403, "AllAccessDisabled", "", PutPart, "", Fatal},
	{"AWS", 403, "AccountProblem", "", PutPart, "", Fatal},
	{"MinIO", 400, "XMinioObjectExistsAsDirectory", "", Complete, "", Fatal},
	{"MinIO", 400, "XMinioInvalidObjectName", "", Create, "", Fatal},
	{"R2", 401, "Unauthorized", "", PutPart, "", Remint},
	{"R2", 401, "Unauthorized", "", PutPart, "new", Fatal},
	{"GCS", 401, "AuthenticationRequired", "", Create, "", Remint},
	{"GCS", 401, "", "", PutPart, "", Remint},
	{"GCS", 401, "", "", PutPart, "new", Fatal},
	{"proxy", 408, "", "", PutPart, "", Retry},
	{"proxy", 425, "", "", PutPart, "", Retry},
	{"nginx", 499, "", "", PutPart, "", Retry},
	{"nginx", 499, "", "", Complete, "", Ambiguous},
	{"Cloudflare", 520, "", "", PutPart, "", Retry},
	{"Cloudflare", 522, "", "", Complete, "", Ambiguous},
	{"Cloudflare", 524, "", "", PutPart, "", Retry},
	{"Cloudflare", 530, "", "", PutPart, "", Retry},
	{"proxy", 502, "", "502 Bad Gateway", PutPart, "", Retry},
	{"proxy", 504, "", "", Complete, "", Ambiguous},
	{"new", 503, "NeverSeen", "", PutPart, "", Throttle},
	{"new", 400, "NeverSeen", "", PutPart, "", Fatal},

	// Expired, in every dialect.
	{"AWS", 403, "AccessDenied", "Request has expired", PutPart, "", Remint},
	{"AWS", 403, "AccessDenied", "Request has expired", PutPart, "new", Remint},
	{"AWS", 400, "ExpiredToken", "The provided token has expired.", PutPart, "", Remint},
	{"MinIO", 403, "AccessDenied", "Request has expired", PutPart, "", Remint},
	{"MinIO", 403, "AccessDenied", "Request is not valid yet", PutPart, "", Remint},
	{"MinIO", 403, "AccessDenied", "Request is not valid yet", PutPart, "new", Fatal},
	{"MinIO", 403, "InvalidAccessKeyId", "The Access Key Id you provided does not exist in our records.", PutPart, "", Remint},
	{"SeaweedFS", 403, "AccessDenied", "Request has expired", PutPart, "", Remint},
	{"SeaweedFS", 400, "ExpiredToken", "", PutPart, "", Remint},
	{"GCS", 400, "ExpiredToken", "Invalid argument.: The provided token has expired. Request signature expired at: 2026-09-11T23:48:45+00:00", PutPart, "", Remint},
	{"GCS", 400, "ExpiredToken", "The provided token has expired.", PutPart, "", Remint},
	{"GCS", 403, "SignatureDoesNotMatch", "", PutPart, "", Remint},
	{"R2", 400, "ExpiredRequest", "Request has expired", PutPart, "", Remint},
	{"R2", 403, "ExpiredRequest", "Request has expired", PutPart, "", Remint},
	{"Ceph", 403, "AccessDenied", "The pre-signed URL has expired", PutPart, "", Remint},
	{"Ceph", 403, "AccessDenied", "", PutPart, "late", Remint},
	{"Ceph", 403, "AccessDenied", "", PutPart, "", Fatal},
	{"OSS", 403, "AccessDenied", "Request has expired.", PutPart, "", Remint},
	{"some", 403, "AccessDenied", "Request HAS EXPIRED", PutPart, "", Remint},
	{"AWS", 400, "RequestExpired", "", PutPart, "", Remint},
	{"any, HEAD", 403, "", "", Head, "late", Remint},
	{"any, HEAD", 400, "", "", Head, "late", Remint},
	{"any, HEAD", 403, "", "", Head, "", Fatal},
	{"any, HEAD by the SDK", 400, "BadRequest", "Bad Request", Head, "late", Remint},
	{"proxy", 401, "", "<html>", PutPart, "late", Remint},
	{"AWS", 400, "BadDigest", "", PutPart, "late", Reread},
	{"AWS", 404, "NoSuchUpload", "", PutPart, "late", Restart},
	{"AWS", 503, "SlowDown", "", PutPart, "late", Throttle},
}

func TestWhatStoresAnswer(t *testing.T) {
	for _, s := range stores {
		o := Outcome{Op: s.op, Status: s.status, Code: s.code, Message: s.message,
			Ambiguous: s.flag == "again", Expired: s.flag == "late", Renewed: s.flag == "new"}
		if got := Classify(o); got != s.want {
			t.Errorf("%s: %d %s %q, %v %s: %v, want %v", s.store, s.status, s.code, s.message, s.op, s.flag, got, s.want)
		}
	}
}

// No row of the tables is hidden by one above it, or says what the rows below
// it say without it.
func TestEveryRowDecides(t *testing.T) {
	for name, table := range map[string][]row{"codes": codes, "statuses": statuses} {
		for i, r := range table {
			o := Outcome{Op: r.op, Status: r.status, Code: r.code, Message: r.says, Ambiguous: r.doubt}
			if first, _ := find(table, o); first != r {
				t.Errorf("%s, row %d: %+v is hidden by %+v", name, i, r, first)
			}
			if r.op == 0 && !r.doubt && r.says == "" && r.status == 0 {
				continue
			}
			if next, ok := find(table[i+1:], o); ok && next.class == r.class && next.once == r.once {
				t.Errorf("%s, row %d: %+v changes nothing", name, i, r)
			}
		}
	}
	for _, r := range codes {
		if r.code == "" || r.class == Unknown || r.class == Done || r.once && r.class != Remint {
			t.Errorf("nonsense: %+v", r)
		}
	}
}
