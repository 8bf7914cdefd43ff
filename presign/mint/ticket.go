package mint

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// minSecret is the least length of a secret that signs something, in bytes: that of
// the sum, as RFC 2104 section 3 has it.
const minSecret = sha256.Size

// maxTicket bounds a ticket, in bytes, before anything is computed of it.
const maxTicket = 8 << 10

// Ticket lets its bearer in as a caller until it ends. Another backend, which shares
// the secret with the handler, gives it to those it trusts.
type Ticket struct {
	Caller   Caller
	NotAfter time.Time // required
}

// ticketFields are a ticket as JSON.
type ticketFields struct {
	Name     string `json:"name"`
	Prefix   string `json:"prefix,omitempty"`
	MaxSize  int64  `json:"maxSize,omitempty"`
	NotAfter int64  `json:"notAfter"` // Unix seconds
}

// TicketError says why a ticket is not accepted, or cannot be made.
type TicketError struct{ Reason string }

func (e *TicketError) Error() string { return "the ticket " + e.Reason }

// SignTicket writes a ticket: base64url(JSON) + "." + base64url(HMAC-SHA256), without
// padding. The sum is over "chunkup ticket\n" and the first base64url; the JSON has
// name, prefix, maxSize and notAfter (Unix seconds). Its error is a [*TicketError]: the
// secret has less than 32 bytes, or the ticket no end or no name.
func SignTicket(secret []byte, t Ticket) (string, error) {
	switch {
	case len(secret) < minSecret:
		return "", &TicketError{fmt.Sprintf("needs a secret of at least %d bytes", minSecret)}
	case t.NotAfter.IsZero():
		return "", &TicketError{"needs an end (NotAfter)"}
	case t.Caller.Name == "":
		return "", &TicketError{"needs a caller with a name"}
	}
	body, err := json.Marshal(ticketFields{Name: t.Caller.Name, Prefix: t.Caller.Prefix, MaxSize: t.Caller.MaxSize,
		NotAfter: t.NotAfter.Unix()})
	if err != nil {
		return "", &TicketError{"cannot be written: " + err.Error()}
	}
	payload := base64.RawURLEncoding.EncodeToString(body)
	ticket := payload + "." + base64.RawURLEncoding.EncodeToString(ticketSum(secret, payload))
	if len(ticket) > maxTicket {
		return "", &TicketError{fmt.Sprintf("has %d bytes: at most %d are accepted", len(ticket), maxTicket)}
	}
	return ticket, nil
}

// Tickets authenticates by the header Authorization: Bearer and a ticket of
// [SignTicket] with the same secret. A secret of less than 32 bytes lets nobody in.
func Tickets(secret []byte) func(*http.Request) (Caller, error) {
	secret = append([]byte(nil), secret...)
	return func(r *http.Request) (Caller, error) {
		if len(secret) < minSecret {
			return Caller{}, &TicketError{fmt.Sprintf("needs a secret of at least %d bytes", minSecret)}
		}
		token, err := bearerToken(r)
		if err != nil {
			return Caller{}, err
		}
		t, err := openTicket(secret, token)
		if err != nil {
			return Caller{}, err
		}
		if !time.Now().Before(t.NotAfter) {
			return Caller{}, &TicketError{"has ended"}
		}
		return t.Caller, nil
	}
}

var errTicketForm = &TicketError{"is none: it has another form"}

// openTicket reads a ticket that was signed with the secret, whenever it ends.
func openTicket(secret []byte, ticket string) (Ticket, error) {
	payload, sum, found := strings.Cut(ticket, ".")
	if !found || len(ticket) > maxTicket {
		return Ticket{}, errTicketForm
	}
	mac, err := decode64(sum)
	if err != nil {
		return Ticket{}, errTicketForm
	}
	if !hmac.Equal(mac, ticketSum(secret, payload)) {
		return Ticket{}, &TicketError{"was signed with another secret, or changed"}
	}
	var fields ticketFields
	body, err := decode64(payload)
	if err = errors.Join(err, json.Unmarshal(body, &fields)); err != nil || fields.Name == "" {
		return Ticket{}, errTicketForm
	}
	return Ticket{NotAfter: time.Unix(fields.NotAfter, 0),
		Caller: Caller{Name: fields.Name, Prefix: fields.Prefix, MaxSize: fields.MaxSize}}, nil
}

func ticketSum(secret []byte, payload string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("chunkup ticket\n" + payload))
	return h.Sum(nil)
}
