package budget_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/chunkup/chunkup/budget"
)

// One budget for the endpoint, one share for the upload, one operation for the
// part; Begin and Settle around each attempt.
func Example() {
	const size = 8 << 20
	endpoint := budget.New(budget.Options{})

	upload := endpoint.Join(size)
	defer upload.Leave()

	attempts := 0
	put := func() (sent int64, err error) { // a store that has a bad moment
		if attempts++; attempts < 3 {
			return size / 4, errors.New("503 SlowDown")
		}
		return size, nil
	}

	part := upload.Operation(size)
	defer part.End()
	for done := false; !done; {
		// Here back off and ask the breaker, and take a connection after Begin.
		if err := part.Begin(context.Background()); err != nil {
			fmt.Println("gave up:", err)
			return
		}
		sent, err := put()
		verdict := budget.Success
		if err != nil {
			verdict = budget.Failure
		}
		part.Settle(verdict, sent)
		done = err == nil
		fmt.Printf("attempt %d, error %v, in doubt: %v\n", attempts, err, endpoint.Level().Doubt)
	}
	// Output:
	// attempt 1, error 503 SlowDown, in doubt: true
	// attempt 2, error 503 SlowDown, in doubt: true
	// attempt 3, error <nil>, in doubt: false
}
