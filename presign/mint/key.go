package mint

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxKey  = 1024 // bytes, S3's limit
	maxName = 255  // bytes of the last element of a key that the service makes
)

// badKey says what is wrong with a key; empty if nothing is. It is stricter than
// stores, which take any bytes: what would mean another place in a file system or a
// URL, or cannot be shown, is refused.
func badKey(key string) string {
	switch {
	case key == "":
		return "is empty"
	case len(key) > maxKey:
		return "has more than 1024 bytes"
	case !utf8.ValidString(key):
		return "is not UTF-8"
	case strings.ContainsFunc(key, unfit):
		return `has a control character or a "\"`
	}
	for segment := range strings.SplitSeq(key, "/") {
		switch segment {
		case "":
			return `has an empty segment: a "/" at an end, or two in a row`
		case ".", "..":
			return `has a segment "` + segment + `"`
		}
	}
	return ""
}

// unfit tells the characters that no key has: U+FFFE and U+FFFF cannot be in the XML of
// a listing (https://www.w3.org/TR/xml/#charsets).
func unfit(r rune) bool { return unicode.IsControl(r) || r == '\\' || r == 0xFFFE || r == 0xFFFF }

// lastElement makes of a file's name, which may be a path of any system, what can be
// the last element of a key. Of one that is too long the end stays: what kind of file
// it is.
func lastElement(filename string) string {
	name := filename[strings.LastIndexAny(filename, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unfit(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, name)
	if cut := len(name) - maxName; cut > 0 {
		for !utf8.RuneStart(name[cut]) {
			cut++
		}
		name = name[cut:]
	}
	if name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}

// keyFor is the key of a new object: the caller's wish if it may have one, else one of
// the service's making.
func (h *Handler) keyFor(c Caller, wish, filename string) (string, error) {
	if c.Prefix == "" || wish == "" {
		return h.makeKey(c, filename)
	}
	return wish, mayChoose(c, wish)
}

// mayChoose tells whether a key is one that the caller may name.
func mayChoose(c Caller, key string) error {
	if bad := badKey(key); bad != "" {
		return refuse(http.StatusBadRequest, "the key %s", bad)
	}
	if c.Prefix == "" || !strings.HasPrefix(key, c.Prefix) {
		return refuse(http.StatusForbidden, "the key is not one that this caller may choose")
	}
	return nil
}

func (h *Handler) makeKey(c Caller, filename string) (string, error) {
	if h.o.Key == nil {
		var b [16]byte
		rand.Read(b[:])
		return h.o.Prefix + hex.EncodeToString(b[:]) + "/" + lastElement(filename), nil
	}
	key, err := h.o.Key(c, filename)
	if err != nil {
		return "", broken("no key can be made for this object", err)
	}
	if bad := badKey(key); bad != "" {
		return "", broken("the key that was made for this object "+bad, nil)
	}
	return key, nil
}
