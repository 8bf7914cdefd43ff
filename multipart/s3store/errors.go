package s3store

import (
	"errors"

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
	if deadline, ok := errors.AsType[*wire.DeadlineError](err); ok {
		return deadline
	}
	answer, ok := errors.AsType[*awshttp.ResponseError](err)
	if !ok || answer.Response == nil || answer.HTTPStatusCode() == 0 {
		return transportError(err)
	}
	var code, message string
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code, message = api.ErrorCode(), api.ErrorMessage()
	}
	e := wire.NewStoreError(answer.HTTPStatusCode(), answer.Response.Header, code, message)
	if e.RequestID == "" {
		e.RequestID = answer.ServiceRequestID()
	}
	return e
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
