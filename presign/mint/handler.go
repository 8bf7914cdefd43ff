package mint

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// Options of a [Handler]. Control, Provider, Bucket and Authenticate are required.
type Options struct {
	// Control is that of the store, with the credentials of the service. Each of its
	// calls is made once: the client repeats what can be repeated.
	Control multipart.Control

	// Provider signs the requests that are handed out; they live as long as it says.
	Provider presign.Provider

	// Forms signs forms for browsers. nil: what has no size is refused by /s3/params.
	Forms FormSigner

	// Bucket is where all objects go.
	Bucket string

	// Authenticate says who asks; an error is answered with 401, and its text, which
	// goes to OnEvent, must hold no secret. See [Bearer], [Tickets] and [Anyone].
	Authenticate func(*http.Request) (Caller, error)

	// Prefix begins the keys that the service makes.
	Prefix string

	// Key makes a key for a file's name, which is what the client says. nil: Prefix, 128
	// random bits, "/" and the last element of the name. It is called from many
	// goroutines at once.
	Key func(c Caller, filename string) (string, error)

	// Secret seals the upload ids that clients see; at least 32 bytes. nil: a random
	// one, so that no upload outlives the handler.
	Secret []byte

	// Ledger remembers which uploads are open. nil: one that lives as long as the handler.
	Ledger Ledger

	MaxSize  int64 // of an object, in bytes; 0: the store's limit
	MaxParts int   // of an upload; 0: the store's limit

	// Lifetime of an upload: an older one is refused, and aborted. 0 = 7 days.
	Lifetime time.Duration

	// MaxOpen uploads of a caller may be open at once. 0 = 100.
	MaxOpen int

	// Rate is how many requests a second a caller may make, Burst how many at once.
	// 0 = 50 and 100.
	Rate  float64
	Burst int

	// Headers are those that a caller may give an object, besides its type and metadata.
	// nil: Cache-Control, Content-Disposition, Content-Encoding, Content-Language, Expires.
	Headers []string

	// Origins of web pages that may use the service: exactly these, such as
	// https://example.com, or "*" for all. None: none but the service's own.
	Origins []string

	// MaxAge is how long a browser need not ask again whether it may. 0 = 10 min.
	MaxAge time.Duration

	// OnEvent is told of each request after it was answered, from many goroutines at
	// once. nil: nobody is.
	OnEvent func(Event)
}

// Event is a request that was answered. It holds no URL and no token.
type Event struct {
	Caller  string // its name; empty if it is not known
	Route   string // about, create, list, sign, batch, complete, abort, params, object, preflight; empty: none of these
	Key     string // of the object; empty if it was refused before that was sure
	Part    int    // 0: it is not about one
	Status  int    // of the answer
	Attempt int    // how often the client says that it has made the call, from 1
	Elapsed time.Duration
	Error   string // why it was refused, with what the client is not told; empty: it was not
}

// Handler is the minting service: an http.Handler for the paths below /s3/. It is safe
// for concurrent use; the zero value is not usable, see [NewHandler].
type Handler struct {
	o       Options
	headers map[string]struct{}
	sealer  sealer
	book    *book
	limits  *limiter
	cors    *cors
	creates singleflight.Group
}

var _ http.Handler = (*Handler)(nil)

// NewHandler returns a handler that goes on where the last one with the same Ledger and
// Secret has ended. The error says which option is wrong, or is the ledger's.
func NewHandler(o Options) (*Handler, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.fill()
	h := &Handler{o: o, headers: map[string]struct{}{}, sealer: sealer{o.Secret, o.Bucket}, limits: newLimiter(o.Rate, o.Burst)}
	for _, name := range o.Headers {
		h.headers[http.CanonicalHeaderKey(name)] = struct{}{}
	}
	var err error
	if h.cors, err = newCORS(o.Origins, o.MaxAge); err != nil {
		return nil, err
	}
	h.book, err = openBook(o.Ledger, o.Bucket, o.Lifetime, o.MaxOpen)
	return h, err
}

func (o *Options) check() error {
	switch {
	case o.Control == nil || o.Provider == nil || o.Authenticate == nil || o.Bucket == "":
		return errors.New("mint: Control, Provider, Authenticate and Bucket are required")
	case o.Secret != nil && len(o.Secret) < minSecret:
		return fmt.Errorf("mint: Secret has %d bytes: at least %d are needed", len(o.Secret), minSecret)
	case o.MaxSize < 0 || o.MaxParts < 0 || o.Lifetime < 0 || o.MaxOpen < 0 || o.Rate < 0 || o.Burst < 0 || o.MaxAge < 0:
		return errors.New("mint: a limit is negative")
	}
	if bad := badKey(o.Prefix + "x"); bad != "" {
		return fmt.Errorf("mint: a key that begins with Prefix %s", bad)
	}
	return nil
}

// fill sets the defaults.
func (o *Options) fill() {
	if o.Secret == nil {
		o.Secret = make([]byte, minSecret)
		rand.Read(o.Secret)
	}
	if o.Ledger == nil {
		o.Ledger = NewLedger()
	}
	if o.Headers == nil {
		o.Headers = []string{"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Expires"}
	}
	o.Secret, o.Headers = slices.Clone(o.Secret), slices.Clone(o.Headers)
	o.Lifetime = cmp.Or(o.Lifetime, 7*24*time.Hour)
	o.MaxOpen = cmp.Or(o.MaxOpen, 100)
	o.Rate, o.Burst = cmp.Or(o.Rate, 50), cmp.Or(o.Burst, 100)
	o.MaxAge = cmp.Or(o.MaxAge, 10*time.Minute)
	if o.OnEvent == nil {
		o.OnEvent = func(Event) {}
	}
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	c := &call{h: h, w: w, r: r}
	w.Header().Set("Cache-Control", "no-store") // what is answered is a secret, or changes
	w.Header().Set("X-Content-Type-Options", "nosniff")
	status, err := c.serve(h.cors.allow(w, r))
	e := Event{Caller: c.caller.Name, Route: c.route, Key: c.key, Part: c.partNumber, Status: status,
		Attempt: attempt(r), Elapsed: time.Since(begun)}
	if err != nil {
		e.Error = causeText(err)
	}
	h.o.OnEvent(e)
}

// serve writes the answer, and returns its status and why it is a refusal.
func (c *call) serve(allowed bool) (status int, err error) {
	var body any
	if isPreflight(c.r) {
		c.route = "preflight"
		if err = c.h.cors.preflight(c.w, c.r, allowed); err == nil {
			return http.StatusNoContent, nil
		}
	} else if body, err = c.answer(); err == nil {
		writeJSON(c.w, http.StatusOK, body)
		return http.StatusOK, nil
	}
	if c.r.Context().Err() != nil {
		err = fmt.Errorf("%w (the client has hung up: %w)", err, context.Cause(c.r.Context()))
	}
	if e, ok := errors.AsType[*wire.StoreError](err); ok && hasExpired(e) {
		c.h.renew(c.r.Context())
	}
	f := asFailure(err)
	f.write(c.w)
	return f.status, err
}

// renew has the provider read credentials anew: those that it has may have been rotated.
func (h *Handler) renew(ctx context.Context) {
	if renewer, ok := h.o.Provider.(presign.Renewer); ok {
		_ = renewer.Renew(ctx) // if it cannot, the next Presign says why
	}
}

// causeText is an error without the address that the call was made to.
func causeText(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return asFailure(err).message + ": " + e.Err.Error()
	}
	return err.Error()
}

// maxParts bounds the numbers of parts.
func (h *Handler) maxParts() int {
	most := h.traits().Limits.MaxParts
	if h.o.MaxParts > 0 {
		most = min(most, h.o.MaxParts)
	}
	return most
}
