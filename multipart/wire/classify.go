package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
)

// Operation is what a request asks of the store; some answers mean different
// things to different operations.
type Operation uint8

// The operations of an upload, and of what is looked at besides.
const (
	PutPart Operation = iota + 1
	PutObject
	Create
	List
	Complete
	Abort
	Head
	ListUploads
	ReadRange
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
	case ListUploads:
		return "list uploads"
	case ReadRange:
		return "read object"
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

	// Renewed says that the request was made anew, with credentials asked for
	// again, because the one before it got Remint, and that nothing else came
	// between. What one renewal does not mend is Fatal then. Who never sets it
	// has to bound Remint itself.
	Renewed bool
}

// Classify decides what an outcome means. It is pure, and it has a class for
// every outcome: the store's code where the table of codes has a row for it,
// else the status, and the message only where a row asks for it.
func Classify(o Outcome) Class {
	class := classifyAnswer(o)
	if o.Status == 0 {
		class = classifyTransport(o)
	}
	if o.Op == Complete && (class == Retry || class == Throttle) && (o.Status == 0 || o.Status/100 == 2 || o.Status >= 500) {
		// Complete is not idempotent on every store: it may have been applied.
		return Ambiguous
	}
	return class
}

func classifyAnswer(o Outcome) Class {
	r, known := find(codes, o)
	if isOver(o, known) {
		return Remint
	}
	if !known {
		r, _ = find(statuses, o)
	}
	switch {
	case r.class == Unknown, r.once && o.Renewed:
		return Fatal
	case r.class == Done && (o.Code != "" || o.Bare || o.Err != nil):
		return Retry // an error inside a success, or a success without its proof
	}
	return r.class
}

// isOver tells by the clock an expired request from a forbidden one. Old Ceph
// says only 403, HEAD has no body at all, and a proxy a page of its own. The
// clock explains a 400 only if no known code does; a 401 or 403 of a request
// that was over is worth a new one whatever it says.
func isOver(o Outcome, known bool) bool {
	return o.Expired && (o.Status == 401 || o.Status == 403 || o.Status == 400 && !known)
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
		malformed *RequestError
		dns       *net.DNSError
	)
	switch {
	case errors.As(o.Err, &authority), errors.As(o.Err, &hostname), errors.As(o.Err, &invalid),
		errors.As(o.Err, &verify), errors.As(o.Err, &record), errors.Is(o.Err, http.ErrSchemeMismatch),
		errors.As(o.Err, &malformed):
		return Fatal
	case errors.As(o.Err, &dns) && dns.IsNotFound && !o.Contacted:
		return Fatal // a typing error, not a laptop on a train
	}
	return Retry
}
