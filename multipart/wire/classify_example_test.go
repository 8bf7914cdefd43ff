package wire_test

import (
	"fmt"

	"github.com/chunkup/chunkup/multipart/wire"
)

func ExampleClassify() {
	for _, o := range []wire.Outcome{
		{Op: wire.PutPart, Status: 503, Code: "SlowDown"},
		{Op: wire.PutPart, Status: 403, Code: "AccessDenied", Message: "Request has expired"},
		{Op: wire.Complete, Status: 504},
	} {
		fmt.Println(wire.Classify(o))
	}
	// Output:
	// throttle
	// remint
	// ambiguous
}
