package wire_test

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/chunkup/chunkup/multipart/wire"
)

// What each attempt pays for the question what its end means: hardly anything when
// it worked.
func BenchmarkClassify(b *testing.B) {
	reset := fmt.Errorf("write: %w", &net.OpError{Op: "write", Net: "tcp", Err: syscall.ECONNRESET})
	for name, o := range map[string]wire.Outcome{
		"done":     {Op: wire.PutPart, Status: 200},
		"code":     {Op: wire.PutPart, Status: 503, Code: "SlowDown", Message: "Please reduce your request rate."},
		"status":   {Op: wire.PutPart, Status: 502},
		"message":  {Op: wire.PutPart, Status: 400, Code: "InvalidRequest", Message: "Something that no row knows."},
		"reset":    {Op: wire.PutPart, Err: reset},
		"canceled": {Op: wire.PutPart, Err: context.Canceled},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if wire.Classify(o) == wire.Unknown {
					b.Fatal("unknown")
				}
			}
		})
	}
}
