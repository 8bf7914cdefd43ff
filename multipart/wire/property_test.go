package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// check runs a property so many times, unless the command line says otherwise.
func check(t *testing.T, times int, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if before := checks.Value.String(); before == checks.DefValue {
		flag.Set("rapid.checks", strconv.Itoa(times))
		defer flag.Set("rapid.checks", before)
	}
	rapid.Check(t, property)
}

// failure is how an attempt without an answer may end.
type failure struct {
	name  string
	err   error
	class Class // of an operation that may be repeated, when the host has never answered
}

var failures = []failure{
	{"reset", &net.OpError{Op: "write", Err: syscall.ECONNRESET}, Retry},
	{"refused", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, Retry},
	{"unreachable", &net.OpError{Op: "dial", Err: syscall.ENETUNREACH}, Retry},
	{"broken pipe", syscall.EPIPE, Retry},
	{"end of file", io.EOF, Retry},
	{"cut", io.ErrUnexpectedEOF, Retry},
	{"something", errors.New("http: server closed idle connection"), Retry},
	{"context", context.DeadlineExceeded, Retry},
	{"connect", &DeadlineError{Phase: PhaseConnect}, Retry},
	{"stall", &DeadlineError{Phase: PhaseStall}, Retry},
	{"answer", &DeadlineError{Phase: PhaseAnswer}, Retry},
	{"alert", &net.OpError{Op: "remote error", Err: errors.New("tls: internal error")}, Retry},
	{"DNS is down", &net.DNSError{IsTemporary: true}, Retry},
	{"no such host", &net.DNSError{IsNotFound: true}, Fatal},
	{"unknown CA", x509.UnknownAuthorityError{}, Fatal},
	{"another host's", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "h"}, Fatal},
	{"over", x509.CertificateInvalidError{Reason: x509.Expired}, Fatal},
	{"not verified", &tls.CertificateVerificationError{Err: errors.New("x")}, Fatal},
	{"no TLS", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, Fatal},
	{"HTTP, not HTTPS", http.ErrSchemeMismatch, Fatal},
	{"malformed", &RequestError{}, Fatal},
}

func TestFailures(t *testing.T) {
	for _, f := range failures {
		for _, err := range []error{f.err, fmt.Errorf("wrapped: %w", f.err)} {
			for op := PutPart; op <= Head; op++ {
				for _, contacted := range []bool{false, true} {
					want := f.class
					if f.name == "no such host" && contacted {
						want = Retry
					}
					if want == Retry && op == Complete {
						want = Ambiguous
					}
					if got := Classify(Outcome{Op: op, Err: err, Contacted: contacted}); got != want {
						t.Errorf("%s of %v, contacted %v: %v, want %v", f.name, op, contacted, got, want)
					}
				}
			}
		}
	}
}

// expiredCodes mean expired at any status.
var expiredCodes = []string{"ExpiredToken", "ExpiredRequest", "RequestExpired"}

// laws are what Classify keeps for every outcome.
var laws = []struct {
	name string
	keep func(o Outcome, got Class) bool
}{
	{"total", func(o Outcome, got Class) bool {
		return got <= Fatal && (got == Unknown) == (o.Status == 0 && o.Err == nil)
	}},
	{"deterministic", func(o Outcome, got Class) bool { return Classify(o) == got }},
	{"done is a proven success, and the other way round", func(o Outcome, got Class) bool {
		return (got == Done) == (o.Status >= 200 && o.Status < 300 && o.Code == "" && !o.Bare && o.Err == nil)
	}},
	{"a completion in doubt is looked up", func(o Outcome, got Class) bool {
		inDoubt := o.Status == 0 || o.Status >= 200 && o.Status < 300 || o.Status >= 500
		return o.Op != Complete || !inDoubt || got != Retry && got != Throttle
	}},
	{"a transient status of a completion without a code is doubt", func(o Outcome, got Class) bool {
		transient := []int{499, 500, 502, 503, 504, 520, 522, 524, 530}
		return o.Op != Complete || o.Code != "" || !slices.Contains(transient, o.Status) || got == Ambiguous
	}},
	{"only a completion or a condition is in doubt", func(o Outcome, got Class) bool {
		return got != Ambiguous || o.Op == Complete || o.Op == PutObject && o.Ambiguous &&
			(o.Status == 412 || o.Code == "PreconditionFailed")
	}},
	{"an unknown code changes nothing", func(o Outcome, got Class) bool {
		without, with := o, o
		without.Code, with.Code = "", "NobodySaysThis"
		return o.Status/100 == 2 || Classify(without) == Classify(with)
	}},
	{"a page changes nothing", func(o Outcome, got Class) bool {
		page, empty := o, o
		page.Code, empty.Code, empty.Message = "", "", ""
		return Classify(page) == Classify(empty)
	}},
	{"expired is a new request, at any status", func(o Outcome, got Class) bool {
		said := slices.Contains(expiredCodes, o.Code) ||
			o.Code == "AccessDenied" && strings.Contains(strings.ToLower(o.Message), "has expired")
		byClock := o.Expired && (o.Status == 401 || o.Status == 403)
		return o.Status == 0 || !said && !byClock || got == Remint
	}},
	{"the clock says expired or nothing", func(o Outcome, got Class) bool {
		o.Expired = true
		late := Classify(o)
		o.Expired = false
		return late == Remint || late == Classify(o)
	}},
	{"once is once", func(o Outcome, got Class) bool {
		o.Renewed = false
		first := Classify(o)
		o.Renewed = true
		second := Classify(o)
		return first == second || first == Remint && second == Fatal
	}},
	{"doubt makes nothing worse", func(o Outcome, got Class) bool {
		o.Ambiguous = false
		sure := Classify(o)
		o.Ambiguous = true
		unsure := Classify(o)
		return sure == unsure || unsure == Ambiguous
	}},
	{"an error after the status is no success", func(o Outcome, got Class) bool {
		o.Err = io.ErrUnexpectedEOF
		return o.Status == 0 || Classify(o) != Done
	}},
	{"contact matters to a name without a host only", func(o Outcome, got Class) bool {
		o.Contacted = !o.Contacted
		var dns *net.DNSError
		return Classify(o) == got || o.Status == 0 && errors.As(o.Err, &dns)
	}},
	{"the store's throttle is obeyed", func(o Outcome, got Class) bool {
		return o.Code != "" || o.Expired || o.Op == Complete || o.Status != 503 && o.Status != 429 || got == Throttle
	}},
}

func broken(o Outcome) string {
	got := Classify(o)
	for _, law := range laws {
		if !law.keep(o, got) {
			return fmt.Sprintf("%s: %+v is %v", law.name, o, got)
		}
	}
	return ""
}

func knownCodes() (all []string) {
	for _, r := range codes {
		all = append(all, r.code)
	}
	return append(all, "", "NeverSeen", "slowdown")
}

func TestLaws(t *testing.T) {
	known := knownCodes()
	check(t, 10_000, func(t *rapid.T) {
		status := rapid.OneOf(rapid.SampledFrom([]int{0, 200, 204, 301, 307, 400, 401, 403, 404, 408, 409, 412, 413, 429, 499, 500, 501, 502, 503, 504, 507, 520, 530}),
			rapid.IntRange(100, 599), rapid.Int())
		o := Outcome{
			Op:     Operation(rapid.IntRange(0, int(Head)+1).Draw(t, "op")),
			Status: status.Draw(t, "status"),
			Code:   rapid.OneOf(rapid.SampledFrom(known), rapid.String()).Draw(t, "code"),
			Message: rapid.OneOf(rapid.SampledFrom([]string{"", "Access Denied", "Request has expired", "The pre-signed URL has expired", "Request is not valid yet",
				"the region is wrong; expecting 'x'", "All parts must have the same length"}), rapid.String()).Draw(t, "message"),
			Bare:      rapid.Bool().Draw(t, "bare"),
			Expired:   rapid.Bool().Draw(t, "expired"),
			Ambiguous: rapid.Bool().Draw(t, "ambiguous"),
			Contacted: rapid.Bool().Draw(t, "contacted"),
			Renewed:   rapid.Bool().Draw(t, "renewed"),
		}
		if i := rapid.IntRange(-1, len(failures)-1).Draw(t, "failure"); i >= 0 && (o.Status == 0 || o.Status/100 == 2) {
			o.Err = failures[i].err
		}
		if law := broken(o); law != "" {
			t.Fatal(law)
		}
	})
}

func FuzzClassify(f *testing.F) {
	f.Add(uint8(PutPart), 503, "SlowDown", "", uint8(0), uint8(0))
	f.Add(uint8(Complete), 200, "InternalError", "", uint8(0), uint8(1))
	f.Add(uint8(Complete), 404, "NoSuchUpload", "", uint8(0), uint8(4))
	f.Add(uint8(PutPart), 403, "AccessDenied", "Request has expired", uint8(0), uint8(2))
	f.Add(uint8(Head), 0, "", "", uint8(14), uint8(8))
	f.Add(uint8(PutPart), 401, "", "", uint8(0), uint8(16))
	f.Fuzz(func(t *testing.T, op uint8, status int, code, message string, failed, flags uint8) {
		o := Outcome{Op: Operation(op), Status: status, Code: code, Message: message, Bare: flags&1 != 0, Expired: flags&2 != 0,
			Ambiguous: flags&4 != 0, Contacted: flags&8 != 0, Renewed: flags&16 != 0}
		if failed > 0 && (status == 0 || status/100 == 2) {
			o.Err = failures[int(failed)%len(failures)].err
		}
		if law := broken(o); law != "" {
			t.Error(law)
		}
	})
}
