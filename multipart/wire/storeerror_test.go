package wire

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestParseError(t *testing.T) {
	cases := map[string]struct {
		status  int
		header  http.Header
		body    string
		message string
	}{
		"S3": {403, http.Header{"X-Amz-Request-Id": {"R1"}},
			`<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>`,
			"status 403 AccessDenied: Access Denied (request id R1)"},
		"id in the body": {500, nil, `<Error><Code>InternalError</Code><RequestId>R2</RequestId></Error>`,
			"status 500 InternalError (request id R2)"},
		"AWS, expired": {403, nil, `<Error><Code>AccessDenied</Code><Message>Request has expired</Message><X-Amz-Expires>60</X-Amz-Expires>` +
			`<Expires>2026-07-26T10:00:00Z</Expires><ServerTime>2026-07-26T10:05:00Z</ServerTime><HostId>h</HostId></Error>`,
			"status 403 AccessDenied: Request has expired"},
		"GCS, expired": {400, http.Header{"X-Guploader-Uploadid": {"G"}}, `<?xml version='1.0' encoding='UTF-8'?><Error><Code>ExpiredToken</Code><Message>Invalid argument.</Message>` +
			`<Details>The provided token has expired. Request signature expired at: 2026-09-11T23:48:45+00:00</Details></Error>`,
			"status 400 ExpiredToken: Invalid argument: The provided token has expired. Request signature expired at: 2026-09-11T23:48:45+00:00 (request id G)"},
		"details again": {403, nil, "<Error><Code>X</Code><Message>d</Message><Details>d</Details></Error>", "status 403 X: d"},
		"details alone": {403, nil, "<Error><Code>X</Code><Details>d</Details></Error>", "status 403 X: d"},
		"truncated":     {503, nil, "<Error><Code>SlowDown</Code><Mess", "status 503 SlowDown"},
		"space before":  {503, nil, " \r\n\t<Error><Code> SlowDown\n</Code></Error>", "status 503 SlowDown"},
		"byte order":    {503, nil, "\ufeff<Error><Code>SlowDown</Code></Error>", "status 503 SlowDown"},
		"namespace":     {503, nil, `<s:Error xmlns:s="http://s3.amazonaws.com/doc/2006-03-01/"><s:Code>SlowDown</s:Code></s:Error>`, "status 503 SlowDown"},
		"default space": {503, nil, `<Error xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Code>SlowDown</Code></Error>`, "status 503 SlowDown"},
		"Latin-1":       {503, nil, "<?xml version='1.0' encoding='ISO-8859-1'?><Error><Code>SlowDown</Code><Message>trop rapide</Message></Error>", "status 503 SlowDown: trop rapide"},
		"CDATA":         {400, nil, "<Error><Code>X</Code><Message><![CDATA[a <b> c]]></Message></Error>", "status 400 X: a <b> c"},
		"many lines":    {400, nil, "<Error><Code>X</Code><Message>a\n\t b\n</Message></Error>", "status 400 X: a b"},
		"controls":      {400, nil, "<Error><Code>X</Code><Message>a&#x9b;31m&#x202e;b</Message></Error>", "status 400 X: a31mb"},
		"error inside 200": {200, nil, "\n  <Error><Code>InternalError</Code></Error>",
			"status 200 InternalError"},
		"cut inside 200": {200, nil, "<?xml version='1.0'?><Error", "status 200 UnknownError: <?xml version='1.0'?><Error"},
		"empty in 200":   {200, nil, "<Error/>", "status 200 UnknownError: <Error/>"},

		"region": {301, http.Header{"X-Amz-Bucket-Region": {"eu-west-1"}}, "",
			"status 301 Moved Permanently (the bucket is in region eu-west-1: set it with --region)"},
		"region in the body": {400, nil, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>",
			"status 400 AuthorizationHeaderMalformed (the bucket is in region eu-west-1: set it with --region)"},
		"region in the message": {400, nil, "<Error><Code>InvalidRegion</Code><Message>Region does not match; expecting 'eu-west-1'.</Message></Error>",
			"status 400 InvalidRegion: Region does not match; expecting 'eu-west-1' (the bucket is in region eu-west-1: set it with --region)"},
		"no region": {301, http.Header{"X-Amz-Bucket-Region": {"evil.example/\x1b"}}, "", "status 301 Moved Permanently"},
		"endpoint": {301, nil, "<Error><Code>PermanentRedirect</Code><Endpoint>b.s3-eu-west-1.amazonaws.com</Endpoint></Error>",
			"status 301 PermanentRedirect (the bucket is at b.s3-eu-west-1.amazonaws.com)"},
		"no endpoint": {301, nil, "<Error><Code>PermanentRedirect</Code><Endpoint>evil/?x=y</Endpoint></Error>", "status 301 PermanentRedirect"},

		"HTML": {502, nil, "<html>\r\n<head><title>502 Bad Gateway</title><style>h1 { color: red }</style></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body></html>",
			"status 502 Bad Gateway: 502 Bad Gateway 502 Bad Gateway nginx"},
		"script":             {403, nil, "<HTML><SCRIPT>if (a<b) { f() }</SCRIPT><!-- <p>no</p> --><p>Forbidden &amp; denied&nbsp;!</p>", "status 403 Forbidden: Forbidden & denied !"},
		"script without end": {403, nil, "<p>No</p><script>var a = 1", "status 403 Forbidden: No"},
		"text":               {503, nil, "upstream\tconnect error\n", "status 503 Service Unavailable: upstream connect error"},
		"JSON":               {500, nil, `{"message":"Internal server error"}`, `status 500 Internal Server Error: {"message":"Internal server error"}`},
		"another root":       {400, nil, "<ErrorResponse><Error><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>", "status 400 Bad Request: Throttling Rate exceeded"},
		"UTF-16":             {503, nil, "\xff\xfe<\x00E\x00r\x00r\x00o\x00r\x00>\x00n\x00o\x00", "status 503 Service Unavailable: no"},
		"NULs":               {500, nil, "\x00\x00a\x00", "status 500 Internal Server Error: a"},
		"empty":              {502, nil, "", "status 502 Bad Gateway"},
		"unknown status":     {599, nil, "", "status 599"},
		"entities":           {500, nil, `<!DOCTYPE e [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><Error><Code>&b;</Code></Error>`, `status 500 Internal Server Error: ]> &b;`},

		"413": {413, nil, "<html><h1>413 Request Entity Too Large</h1></html>",
			"status 413 Request Entity Too Large: 413 Request Entity Too Large (a proxy on the way limits the size of a body: set a smaller --part-size)"},
		"413, empty": {413, nil, "", "status 413 Request Entity Too Large (a proxy on the way limits the size of a body: set a smaller --part-size)"},
		"too large": {400, nil, "<Error><Code>EntityTooLarge</Code><Message>Your proposed upload exceeds the maximum allowed size</Message><MaxSizeAllowed>5368709120</MaxSizeAllowed></Error>",
			"status 400 EntityTooLarge: Your proposed upload exceeds the maximum allowed size (at most 5368709120 bytes) (it is above the store's limit: set a smaller --part-size)"},
		"full":      {507, nil, "", "status 507 Insufficient Storage (the store is full)"},
		"signature": {403, nil, "<Error><Code>SignatureDoesNotMatch</Code></Error>", "status 403 SignatureDoesNotMatch (the secret key is wrong, or something on the way changes headers)"},
		"skewed":    {403, nil, "<Error><Code>RequestTimeTooSkewed</Code></Error>", "status 403 RequestTimeTooSkewed (is the clock of this machine right?)"},
	}
	for name, tc := range cases {
		e := ParseError(tc.status, tc.header, []byte(tc.body))
		if e == nil || e.Error() != tc.message {
			t.Errorf("%s:\n got %v\nwant %s", name, e, tc.message)
		}
	}
	for _, body := range []string{"", "  ", "<CompleteMultipartUploadResult/>", "<html>", "<", "\x00", `{"Error":1}`} {
		if e := ParseError(200, nil, []byte(body)); e != nil {
			t.Errorf("200 %q: %v, want no error", body, e)
		}
	}
}

// Clocks that are apart are the likely reason of a refusal of who asks, or of
// when; the error names both times.
func TestClockHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is midnight of 2000-01-01
		const both = "(the clock of this machine may be wrong: it says 2000-01-01 00:00:00 UTC, the store's 2000-01-01 00:20:00 UTC)"
		date := func(d time.Duration) http.Header {
			return http.Header{"Date": {time.Now().Add(d).UTC().Format(http.TimeFormat)}}
		}
		cached := date(20 * time.Minute)
		cached.Set("Age", "1200")
		for name, tc := range map[string]struct {
			status int
			header http.Header
			code   string
			want   bool
		}{
			"denied":            {403, date(20 * time.Minute), "AccessDenied", true},
			"no code":           {403, date(20 * time.Minute), "", true},
			"expired, GCS":      {400, date(20 * time.Minute), "ExpiredToken", true},
			"unauthorized":      {401, date(20 * time.Minute), "", true},
			"skewed":            {403, date(20 * time.Minute), "RequestTimeTooSkewed", true},
			"near":              {403, date(4 * time.Minute), "AccessDenied", false},
			"no clock":          {403, nil, "AccessDenied", false},
			"from a cache":      {403, cached, "AccessDenied", false},
			"another complaint": {400, date(20 * time.Minute), "BadDigest", false},
			"busy":              {503, date(20 * time.Minute), "SlowDown", false},
		} {
			got := NewStoreError(tc.status, tc.header, tc.code, "").Error()
			if strings.HasSuffix(got, both) != tc.want || strings.Contains(got, "clock") != tc.want {
				t.Errorf("%s: %s", name, got)
			}
		}
		if got := NewStoreError(403, date(-20*time.Minute), "AccessDenied", "").Error(); !strings.Contains(got, "store's 1999-12-31 23:40:00 UTC") {
			t.Errorf("behind: %s", got)
		}
	})
}

// hostile are bodies that are made to cost time or memory.
func hostile() map[string][]byte {
	return map[string][]byte{
		"R39 angle brackets": bytes.Repeat([]byte("<"), 10<<20),
		"deep":               bytes.Repeat([]byte("<a>"), 1<<20),
		"deep in an error":   append([]byte("<Error>"), bytes.Repeat([]byte("<Code>"), 1<<20)...),
		"many attributes":    append([]byte("<Error "), bytes.Repeat([]byte("a='b' "), 1<<20)...),
		"many entities":      append([]byte("<Error><Code>"), bytes.Repeat([]byte("&lt;"), 1<<20)...),
		"laughs": []byte(`<!DOCTYPE z [<!ENTITY a "aaaaaaaaaa">` + `<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">` +
			`<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">]><Error><Code>&d;&d;&d;&d;</Code></Error>`),
		"scripts":      bytes.Repeat([]byte("<script>"), 1<<20),
		"comments":     bytes.Repeat([]byte("<!--"), 1<<20),
		"signatures":   bytes.Repeat([]byte("signature="), 1<<20),
		"separators":   append([]byte("signature"), bytes.Repeat([]byte("=<>\""), 1<<20)...),
		"spaces":       bytes.Repeat([]byte(" "), 10<<20),
		"line breaks":  append([]byte("a"), bytes.Repeat([]byte("\n"), 10<<20)...),
		"zeros":        make([]byte, 10<<20),
		"not UTF-8":    bytes.Repeat([]byte{0xff, 0xc0, 0x80}, 1<<20),
		"letters":      bytes.Repeat([]byte("a"), 10<<20),
		"long code":    append([]byte("<Error><Code>"), bytes.Repeat([]byte("x y "), 1<<20)...),
		"long message": append([]byte("<Error><Code>X</Code><Message>"), bytes.Repeat([]byte("é "), 10<<10)...),
	}
}

// R39 (https://github.com/s3tools/s3cmd/pull/331): the status decides when the
// body is none of S3's, and no body is worth more than a moment.
func TestHostileBodies(t *testing.T) {
	for name, body := range hostile() {
		start := time.Now()
		e := ParseError(503, nil, body)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
		if err := checkText(e); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, status := range []int{403, 413, 500, 502, 503} {
			got := Classify(Outcome{Op: PutPart, Status: status, Code: e.Code, Message: e.Message})
			if want := Classify(Outcome{Op: PutPart, Status: status}); got != want {
				t.Errorf("%s: %d is %v, want %v", name, status, got, want)
			}
		}
	}
	if e := ParseError(500, nil, bytes.Repeat([]byte("<"), 10<<20)); e.Message != strings.Repeat("<", 199)+"…" {
		t.Errorf("message %q", e.Message)
	}
	// What is far behind the beginning is not looked at.
	far := "<Error><Pad>" + strings.Repeat("x", 1<<20) + "</Pad><Code>SlowDown</Code></Error>"
	if e := ParseError(500, nil, []byte(far)); e.Code != "" {
		t.Errorf("all of a large body was read: %v", e)
	}
	// The SDK reads bodies of control calls itself.
	if err := checkText(NewStoreError(500, nil, strings.Repeat("a", 10<<20), strings.Repeat("signature=>", 1<<20))); err != nil {
		t.Error(err)
	}
}

var secretParam = regexp.MustCompile(`(?i)(?:x-amz-(?:signature|credential|security-token)|awsaccesskeyid|signature)=(\w+)`)

// checkText holds a refusal against what every text of it promises.
func checkText(e *StoreError) error {
	for _, field := range []string{e.Code, e.Message, e.RequestID, e.Region, e.Endpoint} {
		if n := utf8.RuneCountInString(field); n > 300 {
			return fmt.Errorf("%d characters: %.400q", n, field)
		}
	}
	if n := utf8.RuneCountInString(e.Message); e.Code == "" && n > 200 {
		return fmt.Errorf("%d characters of a body: %.400q", n, e.Message)
	}
	text := e.Error()
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("not a line of text: %.400q", text)
	}
	if !strings.HasPrefix(text, "status ") {
		return fmt.Errorf("it begins with %.40q", text)
	}
	for _, m := range secretParam.FindAllStringSubmatch(text, -1) {
		if m[1] != "REDACTED" {
			return fmt.Errorf("%q is in %q", m[0], text)
		}
	}
	return nil
}

const (
	keyID     = "AKIAIOSFODNN7EXAMPLE"
	signature = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
	session   = "IQoJb3JpZ2luX2VjEDkaCXVzLWVhc3QtMSJHMEUCIQDxyz+0/abc=="
)

// A proxy may echo what it was asked. Nothing of that which is secret gets into
// an error.
func TestNoSecretIsQuoted(t *testing.T) {
	query := "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=" + keyID + "%2F20260726%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Expires=60&X-Amz-Security-Token=" +
		session + "&X-Amz-SignedHeaders=host&X-Amz-Signature=" + signature
	bodies := map[string]string{
		"URL":             "cannot PUT https://b.example/k?" + query + " now",
		"HTML":            "<p>cannot PUT <a href=\"https://b.example/k?" + query + "\">/k?" + strings.ReplaceAll(query, "&", "&amp;") + "</a></p>",
		"entities":        "<p>" + strings.NewReplacer("&", "&#38;", "=", "&#61;").Replace(query) + "</p>",
		"escaped":         "to /login?next=" + strings.NewReplacer("&", "%26", "=", "%3D").Replace(query),
		"escaped twice":   "to /login?next=" + strings.NewReplacer("&", "%2526", "=", "%253D").Replace(query),
		"JSON":            `{"url":"/k?` + strings.ReplaceAll(query, "&", `\u0026`) + `","headers":{"X-Amz-Security-Token":["` + session + `"]}}`,
		"version 2":       "/k?AWSAccessKeyId=" + keyID + "&Signature=short%2Bsecret%3D&Expires=1",
		"GCS":             "/k?GoogleAccessId=short+secret@p.iam&X-Goog-Signature=" + strings.Repeat("ab", 256),
		"header":          "Authorization: AWS4-HMAC-SHA256 Credential=" + keyID + "/20260726/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=" + signature,
		"header, 2":       "authorization: AWS " + keyID + ":short+secret=",
		"bearer":          "Authorization: Bearer ya29.a0ARrdaMshortsecret",
		"basic":           "Authorization: Basic short+secret=",
		"table":           "<table><tr><td>X-Amz-Signature</td><td>" + signature + "</td></tr><tr><td>x-amz-security-token</td><td>" + session + "</td></tr></table>",
		"another root":    "<R><Error><Code>c</Code><AWSAccessKeyId>" + keyID + "</AWSAccessKeyId><SignatureProvided>short+secret</SignatureProvided><Token-0>" + session + "</Token-0></Error></R>",
		"user in a URL":   "via http://me:short+secret@proxy.example:3128/",
		"controls inside": "X-Amz-Sig\x00na\u200bture=" + signature,
		"only the value":  "bad value " + signature + " of " + keyID,
		"SSE-C":           "x-amz-server-side-encryption-customer-key: short+secret=",
	}
	for name, body := range bodies {
		for _, e := range []*StoreError{
			ParseError(502, nil, []byte(body)),
			ParseError(200, nil, []byte("<Error>"+body)),
			ParseError(400, nil, []byte("<Error><Code>X</Code><Message><![CDATA["+body+"]]></Message></Error>")),
			NewStoreError(400, http.Header{"X-Amz-Request-Id": {body}, "X-Amz-Bucket-Region": {body}}, body, body),
		} {
			text := e.Error()
			for _, secret := range []string{keyID, signature[:20], session[:20], "short", "abababab"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s: %q is in %q", name, secret, text)
				}
			}
		}
	}
	if got := ParseError(502, nil, []byte(bodies["URL"])).Message; !strings.HasPrefix(got, "cannot PUT https://b.example/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=REDACTED&X-Amz-Expires=60&") {
		t.Errorf("too much is taken out: %q", got)
	}
	for _, harmless := range []string{
		"The request signature we calculated does not match the signature you provided. Check your key and signing method",
		"The provided token has expired. Request signature expired at: 2026-09-11T23:48:45+00:00",
		"The authorization header is malformed; the Credential is mal-formed; expecting \"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request\"",
		"Error parsing the X-Amz-Credential parameter; the region 'us-east-1' is wrong; expecting 'eu-west-1'",
	} {
		if got := NewStoreError(400, nil, "X", harmless).Message; got != harmless {
			t.Errorf("%q became %q", harmless, got)
		}
	}
}

// Wherever a secret is in whatever text, it is not quoted.
func TestSecretAnywhere(t *testing.T) {
	names := []string{"X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "AWSAccessKeyId", "Signature", "x-goog-signature"}
	check(t, 500, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("a<>&= \n\x00\"'/?é%;")))
		secret := rapid.StringMatching(`[A-Z2-7]{8,40}`).Draw(t, "secret")
		sep := rapid.SampledFrom([]string{"=", " = ", ": ", "%3D", "%253d", "&#61;", `":"`, `="`}).Draw(t, "separator")
		body := text.Draw(t, "before") + rapid.SampledFrom(names).Draw(t, "name") + sep + secret + rapid.SampledFrom([]string{"", "&", " ", "<", `"`}).Draw(t, "end") + text.Draw(t, "after")
		for _, e := range []*StoreError{ParseError(502, nil, []byte(body)), NewStoreError(400, nil, "X", body)} {
			if strings.Contains(e.Error(), secret) {
				t.Fatalf("%q is in %q", secret, e)
			}
			if err := checkText(e); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzParseError(f *testing.F) {
	for _, body := range []string{"", "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>", "<Error>", "<html>", "<Error",
		"<Error><Code>ExpiredToken</Code><Details>d</Details></Error>", "<?xml version='1.0' encoding='x'?><Error/>", "<script>", "<!--",
		"X-Amz-Signature=abc&Signature%3Dabc", "\xff\xfe<\x00", "<Error><Code>X</Code><Endpoint>h</Endpoint><Region>r</Region><MaxSizeAllowed>1</MaxSizeAllowed></Error>"} {
		f.Add(403, "", []byte(body))
		f.Add(200, "r1", []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, header string, body []byte) {
		h := http.Header{"X-Amz-Request-Id": {header}, "Date": {header}, "Retry-After": {header}, "X-Amz-Bucket-Region": {header}}
		e := ParseError(status, h, body)
		if e == nil {
			if status/100 != 2 {
				t.Errorf("status %d is no error", status)
			}
			return
		}
		if err := checkText(e); err != nil {
			t.Error(err)
		}
		o := Outcome{Op: PutPart, Status: e.Status, Code: e.Code, Message: e.Message}
		if c := Classify(o); c == Done || c == Unknown && status != 0 {
			t.Errorf("%v: %+v", c, o)
		}
	})
}
