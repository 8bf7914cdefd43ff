package rawstore

import (
	"io"
	"net/http"
	"time"
)

// Step is one thing that the store does to a request. An error ends the
// connection.
type Step func(*exchange) error

// Welcome sends 100 Continue to a client that has asked with Expect. Without it
// such a client is left waiting.
func Welcome() Step {
	return func(x *exchange) error {
		if x.request.Header.Get("Expect") == "" {
			return nil
		}
		return x.send("HTTP/1.1 100 Continue\r\n\r\n")
	}
}

// Read reads n more bytes of the body.
func Read(n int64) Step {
	return func(x *exchange) error { return x.read(n) }
}

// ReadAll reads the rest of the body.
func ReadAll() Step {
	return func(x *exchange) error { return x.readAll() }
}

// Drip reads the rest of the body n bytes at a time, with a pause after each.
func Drip(n int64, every time.Duration) Step {
	return func(x *exchange) error {
		for {
			err := x.read(n)
			if err == io.EOF {
				return nil
			}
			if err == nil {
				err = x.pause(every)
			}
			if err != nil {
				return err
			}
		}
	}
}

// Wait lets time pass.
func Wait(d time.Duration) Step {
	return func(x *exchange) error { return x.pause(d) }
}

// Send sends the text as it is.
func Send(text string) Step {
	return func(x *exchange) error { return x.send(text) }
}

// Repeat sends the text n times, with a pause after each.
func Repeat(text string, n int, every time.Duration) Step {
	return func(x *exchange) error {
		for range n {
			if err := x.send(text); err != nil {
				return err
			}
			if err := x.pause(every); err != nil {
				return err
			}
		}
		return nil
	}
}

// Apply lets the request, which has to be read by now, take effect, and says
// nothing.
func Apply() Step {
	return func(x *exchange) error {
		x.apply()
		return nil
	}
}

// Reply answers as S3 would, after the request has taken effect.
func Reply() Step {
	return func(x *exchange) error { return x.apply().send(x) }
}

// ReplyBody is the body of what Reply would answer, for a script that has sent a
// head of its own.
func ReplyBody() Step {
	return func(x *exchange) error {
		_, err := x.conn.Write(x.apply().body)
		return err
	}
}

// Refuse answers with an S3 error, whether or not the request was read.
func Refuse(status int, code, message string) Step {
	return func(x *exchange) error { return refusal(status, code, message).send(x) }
}

// Answer answers with that, whether or not the request was read. Date, request id
// and length are added.
func Answer(status int, h http.Header, body string) Step {
	return func(x *exchange) error {
		return (&answer{status: status, header: h, body: []byte(body)}).send(x)
	}
}

// Reset cuts the connection with a RST.
func Reset() Step {
	return func(x *exchange) error {
		_ = x.tcp.SetLinger(0) // errors mean that it is closed already
		_ = x.tcp.Close()
		return errOver
	}
}

// Close closes the connection. What was not read makes a RST of it, which may
// overtake an answer and destroy it, as it does in real life.
func Close() Step {
	return func(x *exchange) error {
		_ = x.tcp.Close() // an error means that it is closed already
		return errOver
	}
}

// Freeze keeps the connection and does nothing with it any more.
func Freeze() Step {
	return func(x *exchange) error {
		<-x.store.done
		return errOver
	}
}

// apply lets the request take effect, once.
func (x *exchange) apply() *answer {
	if x.applied == nil {
		x.applied = x.store.bucket.do(x.target, properties(x.request), x.body, x.lie)
	}
	return x.applied
}
