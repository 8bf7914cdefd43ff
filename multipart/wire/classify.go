package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"regexp"
)

// Operation is what a request asks of the store; some answers mean different
// things to different operations.
type Operation uint8

// The operations of an upload.
const (
	PutPart Operation = iota + 1
	PutObject
	Create
	List
	Complete
	Abort
	Head
)

func (o Operation) String() string {
	switch o {
	case PutPart:
		return "upload part"
	case PutObject:
		return "put object"
	case Create:
		return "create upload"
	case List:
		return "list parts"
	case Complete:
		return "complete upload"
	case Abort:
		return "abort upload"
	case Head:
		return "head object"
	}
	return "request"
}

// Class is what to do after an attempt.
type Class uint8

// The classes. The zero value is treated as Fatal.
const (
	Unknown   Class = iota
	Done            // it worked
	Retry           // the same again, after a wait
	Throttle        // the same again, after a wait, and less of it
	Remint          // the same again at once, with a new authorised request
	Redirect        // another region or host has the bucket
	Ambiguous       // it may have worked: look before doing it again
	Reread          // the store got other bytes than were hashed: read the source again
	Restart         // the upload is gone: begin a new one
	Fatal           // it will not work
)

func (c Class) String() string {
	return [...]string{"unknown", "done", "retry", "throttle", "remint", "redirect",
		"ambiguous", "reread", "restart", "fatal"}[min(c, Fatal)]
}

// Outcome is what Classify looks at: an answer, or the error in its place.
type Outcome struct {
	Op      Operation
	Status  int    // 0: no answer
	Code    string // the store's code
	Message string
	Err     error // the transport's error, if there was no answer

	Bare      bool // a 2xx lacks what it must carry (an ETag, an upload id)
	Expired   bool // by the store's clock the request had expired when it arrived
	Ambiguous bool // an earlier try of this operation may have worked
	Contacted bool // the host has answered before
}

// Classify decides what an outcome means. It is pure: status first, code
// second, message last. The rows are those of AWS's and the other stores'
// error lists; codes that a store answers with an unusual status have their
// own row.
func Classify(o Outcome) Class {
	class := Fatal
	switch {
	case o.Status == 0:
		class = classifyTransport(o)
	case isExpiry(o):
		class = Remint
	default:
		class = classifyCode(o)
		if class == Unknown {
			class = classifyStatus(o)
		}
	}
	if o.Op == Complete && (class == Retry || class == Throttle) && (o.Status == 0 || o.Status/100 == 2 || o.Status >= 500) {
		// Complete is not idempotent on every store: it may have been applied.
		return Ambiguous
	}
	return class
}

// classifyTransport judges an attempt without an answer. Everything that may
// pass by itself is tried again; what a person has to mend is not.
func classifyTransport(o Outcome) Class {
	if o.Err == nil {
		return Unknown
	}
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		dns       *net.DNSError
	)
	switch {
	case errors.As(o.Err, &authority), errors.As(o.Err, &hostname), errors.As(o.Err, &invalid),
		errors.As(o.Err, &verify), errors.As(o.Err, &record):
		return Fatal
	case errors.As(o.Err, &dns) && dns.IsNotFound && !o.Contacted:
		return Fatal // a typing error, not a laptop on a train
	}
	return Retry
}

var expired = regexp.MustCompile(`(?i)\bexpired\b`)

// isExpiry tells an expired request from a forbidden one. The stores do not
// agree on the status: AWS, MinIO and SeaweedFS answer 403 AccessDenied
// "Request has expired", GCS 400 ExpiredToken, R2 ExpiredRequest, old Ceph a
// 403 that only the clock explains.
func isExpiry(o Outcome) bool {
	switch o.Code {
	case "ExpiredToken", "ExpiredRequest", "RequestExpired", "TokenRefreshRequired":
		return true
	case "AccessDenied":
		if expired.MatchString(o.Message) {
			return true
		}
	}
	// The clock explains a refusal only where nothing else does.
	return o.Expired && (o.Status == 401 || o.Status == 403 || o.Status == 400 && o.Code == "")
}

// classifyCode judges by the store's own code where it says more than the
// status does; Unknown leaves it to the status.
func classifyCode(o Outcome) Class {
	switch o.Code {
	case "RequestTimeout", "InternalError", "IncompleteBody", "ClientDisconnect", "OperationAborted":
		return Retry
	case "SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable", "ServerBusy",
		"TooManyRequests", "RequestLimitExceeded", "Throttling", "ThrottlingException":
		return Throttle
	case "BadDigest", "InvalidDigest", "CrcMismatch", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch":
		return Reread
	case "AuthorizationHeaderMalformed", "InvalidRegion", "PermanentRedirect":
		return Redirect
	case "NoSuchUpload":
		if o.Op == Complete && o.Ambiguous {
			return Ambiguous
		}
		return Restart
	case "ConditionalRequestConflict":
		if o.Op == Complete {
			return Restart
		}
		return Retry
	}
	return Unknown
}

// classifyStatus judges by the status line alone; an empty or HTML body has no
// more to say.
func classifyStatus(o Outcome) Class {
	switch s := o.Status; {
	case s/100 == 2 && o.Code == "" && !o.Bare:
		return Done
	case s/100 == 2:
		return Retry // an error inside a success, or a success without its proof
	case s/100 == 3:
		return Redirect
	case s == 412 && o.Ambiguous && (o.Op == Complete || o.Op == PutObject):
		return Ambiguous
	case s == 429, s == 503:
		return Throttle
	case s == 408, s == 417, s == 425, s == 499, s == 500, s == 502, s == 504, s >= 520 && s <= 530:
		return Retry
	}
	return Fatal
}
