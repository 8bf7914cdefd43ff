package sandbox

import (
	"errors"
	"fmt"
)

// ErrRunning is returned by [Start] while another sandbox of this process runs:
// the gateway keeps state of its own in package variables.
var ErrRunning = errors.New("sandbox: another sandbox is running in this process, close it first")

var (
	errStopped    = errors.New("sandbox: the gateway stopped by itself")
	errStartLimit = fmt.Errorf("sandbox: the gateway did not answer within %s", startLimit)
	errCloseLimit = fmt.Errorf("sandbox: the gateway did not end within %s", closeLimit)
)

// ListenError refuses an address that other machines could reach, or that is no
// address.
type ListenError struct {
	Addr string // as it was given
}

func (e *ListenError) Error() string {
	return fmt.Sprintf("sandbox: refusing to listen on %q: the sandbox serves this machine only, use host:port with a loopback host such as 127.0.0.1:9100", e.Addr)
}

// BucketNameError refuses a bucket name.
type BucketNameError struct {
	Name string // as it was given
}

func (e *BucketNameError) Error() string {
	return fmt.Sprintf("sandbox: %q cannot name a bucket: use 3 to 63 lower case letters, digits, dots and hyphens, with a letter or a digit at both ends", e.Name)
}
