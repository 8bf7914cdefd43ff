package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
)

// readyPath cannot hide a bucket: no bucket name starts with a dot.
const readyPath = "/.chunkup/ready"

// awaitReady makes the gateway's first request. The gateway is listening
// already, so that the request waits in the backlog and one is enough.
func (s *Server) awaitReady() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), startLimit, errStartLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+readyPath, nil)
	if err != nil {
		return fmt.Errorf("sandbox: first request: %w", err)
	}
	// A transport of its own: no proxy, and no connection left open.
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return fmt.Errorf("sandbox: first request: %w", errors.Join(err, context.Cause(ctx)))
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("sandbox: first request: %s", resp.Status)
	}
	return nil
}

// ready answers awaitReady, and takes the opportunity to silence the server:
// for every connection that breaks off, the gateway prints a line to stderr,
// which no option of it stops. Nobody is left to answer on such a connection.
func ready() fiber.Handler {
	var once sync.Once
	return func(c fiber.Ctx) error {
		once.Do(func() {
			server := c.App().Server()
			server.ErrorHandler = quiet(server.ErrorHandler)
		})
		return c.SendStatus(http.StatusOK)
	}
}

func quiet(loud func(*fasthttp.RequestCtx, error)) func(*fasthttp.RequestCtx, error) {
	return func(ctx *fasthttp.RequestCtx, err error) {
		_, broken := errors.AsType[net.Error](err)
		if broken || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			ctx.SetStatusCode(http.StatusBadRequest)
			return
		}
		loud(ctx, err)
	}
}

// readRest reads what a refused request still has to send before the answer
// goes out. The gateway by itself reads 256 KiB and closes the connection, also
// after Expect: 100-continue, which it grants before it looks at the request:
// of large PUTs with a wrong signature, two in three clients then saw a reset
// and not the 403.
func readRest(c fiber.Ctx) error {
	err := c.Next()
	switch body := c.Request().BodyStream(); {
	case body == nil:
	case c.Request().Header.ContentLength() >= 0:
		_, _ = io.Copy(io.Discard, body)
	default:
		// A chunked body cannot be read past its end, and whether that is
		// reached cannot be asked. What is left of it is no request.
		c.Response().SetConnectionClose()
	}
	return err
}
