package s3store

import (
	"errors"
	"io"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/chunkup/chunkup/multipart/wire"
)

// translate turns the SDK's error into ours, at the one place where both are
// known: a refusal into a *wire.StoreError. What the transport or our
// deadlines said is found in the SDK's error as it is.
func translate(err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := err.(*wire.StoreError); ok {
		return refused
	}
	if deadline, ok := errors.AsType[*wire.DeadlineError](err); ok {
		return deadline
	}
	answer, ok := errors.AsType[*awshttp.ResponseError](err)
	if !ok || answer.Response == nil || answer.HTTPStatusCode() == 0 {
		return transportError(err)
	}
	return refusal(err, answer)
}

// refusal reads the answer as wire reads those to parts: what a proxy said in
// HTML counts as much as what a store says in XML. The SDK makes a code up where
// there is none; its reading is only taken where it has kept no body, which is
// that of a success.
func refusal(err error, answer *awshttp.ResponseError) *wire.StoreError {
	status, header := answer.HTTPStatusCode(), answer.Response.Header
	var e *wire.StoreError
	if body, ok := bodyOf(answer.Response); ok {
		e = wire.ParseError(status, header, body)
	}
	if e == nil {
		code, message := "UnknownError", "the answer cannot be read" // a success that holds no result is none
		if api, ok := errors.AsType[smithy.APIError](err); ok {
			code, message = api.ErrorCode(), api.ErrorMessage()
		}
		e = wire.NewStoreError(status, header, code, message)
	}
	if e.RequestID == "" {
		e.RequestID = answer.ServiceRequestID()
	}
	return e
}

// bodyOf reads the body once more, which wire's answers hold in memory.
func bodyOf(r *smithyhttp.Response) (body []byte, ok bool) {
	held, ok := r.Body.(io.ReadSeeker)
	if !ok {
		return nil, false
	}
	if _, err := held.Seek(0, io.SeekStart); err != nil {
		return nil, false
	}
	body, err := io.ReadAll(held)
	return body, err == nil
}

// transportError takes off the SDK's layers, which say only that an operation
// failed, down to what failed.
func transportError(err error) error {
	for {
		switch err.(type) {
		case *smithy.OperationError, *smithyhttp.ResponseError, interface{ ServiceRequestID() string },
			interface{ ConnectionError() bool }, interface{ CanceledError() bool }:
		default:
			return err
		}
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
