package wire

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How much of a store's text goes into an error, in characters, and how much of
// it is looked at for that.
const (
	maxField   = 300      // a field of a StoreError
	maxExcerpt = 200      // what is quoted of a body that is none of S3's
	maxText    = 2048     // characters of text
	maxRaw     = 16 << 10 // bytes of a body: the code comes first, but a page may begin with much that is not for reading
)

// oneLine makes a store's text fit for an error message.
func oneLine(s string) string {
	return cut(redact(cut(printable(front(s)), maxText)), maxField)
}

// excerpt is the beginning of what a person would read of a body that is none
// of S3's: a proxy's page, plain text, JSON. Markup alone is quoted as it is.
func excerpt(body []byte) string {
	s := redactNamed(printable(html.UnescapeString(printable(front(string(body))))))
	text := printable(untag(s))
	if text == "" {
		text = s
	}
	return cut(redact(cut(text, maxText)), maxExcerpt)
}

// front bounds the work that a hostile text can make.
func front(s string) string { return s[:min(len(s), maxRaw)] }

// cut shortens s to at most n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// printable leaves out what a terminal would obey instead of show, and what is
// no text, and joins the lines.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// untag takes the markup out of a page, and with it what is not for reading.
func untag(page string) string {
	var b strings.Builder
	for {
		text, rest, tag := strings.Cut(page, "<")
		b.WriteString(text)
		if !tag {
			return b.String()
		}
		b.WriteByte(' ')
		end := ">"
		switch {
		case hasPrefixFold(rest, "script"):
			end = "</script>"
		case hasPrefixFold(rest, "style"):
			end = "</style>"
		case strings.HasPrefix(rest, "!--"):
			end = "-->"
		}
		at := indexFold(rest, end)
		if at < 0 {
			return b.String() // it was cut there
		}
		page = rest[at+len(end):]
	}
}

// hasPrefixFold and indexFold are those of package strings for ASCII in any
// case.
func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func indexFold(s, needle string) int {
	for i := range len(s) {
		if hasPrefixFold(s[i:], needle) {
			return i
		}
	}
	return -1
}

// named finds a secret by what it is called, in a query, a header, JSON or
// XML; bare finds one by its looks: key ids of AWS and GCS, tokens of OAuth,
// signatures in hexadecimal, session tokens, a password in a URL.
var (
	named = regexp.MustCompile(`(?i)((?:signature(?:provided)?|credential|accesskeyid|secretaccesskey|googleaccessid|customer-key|token(?:-\d+)?|\b(?:sig|password|authorization|cookie))` +
		`(?:[\s"'\[({]*(?:[=:>]|%(?:25)*3d|\\u003d|&#(?:61|x3d);|<[^<>]*>))+[\s"'\[({]*(?:(?:basic|bearer|aws[-\w]*|goog[-\w]*)\s+)?)` +
		`[^\s"'<>&,;]+`)
	bare = regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\bGOOG[A-Z0-9]{16,}|\bya29\.[\w.-]+|\beyJ[\w.-]{16,}|` +
		`[0-9a-fA-F]{64,}|[A-Za-z0-9+/_=-]{100,}|(?i:\bbearer\s+[\w.~+/=-]{16,})|(//)[^\s/@]+@`)
)

func redactNamed(s string) string { return named.ReplaceAllString(s, "${1}REDACTED") }

// redact takes out what looks like a signature or a credential: a proxy may
// have echoed the request.
func redact(s string) string { return bare.ReplaceAllString(redactNamed(s), "${1}REDACTED") }
