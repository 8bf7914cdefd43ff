package walk

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrKey is in the *Error of a name that no store takes as a key, or takes and then
// cannot list.
var ErrKey = errors.New("it cannot be a key")

// maxKey is how long a key may be, in bytes
// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html).
const maxKey = 1024

// CheckKey tells whether a key can be one; its error is ErrKey. What the caller puts before
// it counts towards the length too, and is the caller's to check.
func CheckKey(key string) error {
	switch at := strings.IndexFunc(key, func(r rune) bool { return !inXML(r) }); {
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: it is not UTF-8", ErrKey)
	case at >= 0:
		r, _ := utf8.DecodeRuneInString(key[at:])
		return fmt.Errorf("%w: a store's listing is XML, which cannot carry %U", ErrKey, r)
	case len(key) > maxKey:
		return fmt.Errorf("%w: it has %d bytes, and stores take at most %d", ErrKey, len(key), maxKey)
	}
	return nil
}

// checkPrefix tells whether any key that begins with a prefix can be one, so that a folder
// in vain is one error and not one for each file.
func checkPrefix(prefix string) error {
	if err := CheckKey(prefix); err != nil {
		return err
	}
	if len(prefix) == maxKey {
		return fmt.Errorf("%w: what is in it would have more than %d bytes", ErrKey, maxKey)
	}
	return nil
}

// inXML is the production Char (https://www.w3.org/TR/xml/#NT-Char).
func inXML(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000
}
