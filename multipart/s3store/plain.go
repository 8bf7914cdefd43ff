package s3store

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// plain leaves out of a request what a [Profile] that is Plain does without.
//
// The SDK sets Accept-Encoding: identity on every call and signs it. Google's
// front end adds to that header, so that the signature does not fit any more.
// It is not needed: our transport asks for no compression. Nor is the x-id
// parameter, which names the operation for those who read logs.
func plain(stack *middleware.Stack) error {
	// Requests that are presigned do not have it: no error.
	_, _ = stack.Finalize.Remove("DisableAcceptEncodingGzip")
	return stack.Build.Add(middleware.BuildMiddlewareFunc("WithoutXID", withoutXID), middleware.After)
}

func withoutXID(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
	if req, ok := in.Request.(*smithyhttp.Request); ok {
		query := strings.Split(req.URL.RawQuery, "&")
		query = slices.DeleteFunc(query, func(s string) bool { return strings.HasPrefix(s, "x-id=") })
		req.URL.RawQuery = strings.Join(query, "&")
	}
	return next.HandleBuild(ctx, in)
}
