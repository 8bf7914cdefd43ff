//go:build !linux

package faultproxy

import "context"

// awaitClose returns when the connection is closed on this side. That the
// client closed it is seen only if its request had been read to the end.
func (c *conn) awaitClose(ctx context.Context) { <-ctx.Done() }
