package integration

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// credentialsFile is a shared credentials file, which is replaced as a script
// would: by a rename.
type credentialsFile string

func (f credentialsFile) write(t *testing.T, id string) {
	t.Helper()
	text := "[default]\naws_access_key_id = " + id + "\naws_secret_access_key = secret\naws_session_token = of-" + id + "\n"
	if err := os.WriteFile(string(f)+".new", []byte(text), 0o600); err != nil {
		t.Error(err)
	}
	if err := os.Rename(string(f)+".new", string(f)); err != nil {
		t.Error(err)
	}
}

// R13, https://github.com/aws/aws-cli/issues/4562: a script replaces the credentials
// file, and the copy that runs keeps the old ones until it dies of them. Here 20 parts,
// with the file replaced after a quarter of them and the old key refused after three
// eighths (2 s and 3 s of 8 s in the scenario: told by parts, the test does not wait).
func TestR13CredentialsFileIsReplaced(t *testing.T) {
	check.Leaks(t)
	const parts = 20
	file := credentialsFile(filepath.Join(t.TempDir(), "credentials"))
	file.write(t, "OLD")
	src := check.Pattern(parts * mib)
	arrived := 0
	g := newGate(t, newLedger(t, src), func(s signed) *s3Error {
		if s.op == rawstore.PutPart && !s.refused {
			if arrived++; arrived == parts/4 {
				file.write(t, "NEW")
			}
		}
		if s.key == "OLD" && arrived > parts*3/8 {
			return &s3Error{http.StatusForbidden, "ExpiredToken", "The provided token has expired."}
		}
		return nil
	})
	var reads atomic.Int32
	d := g.desk(t, s3presign.Reread(func(ctx context.Context) (aws.Config, error) {
		reads.Add(1)
		return config.LoadDefaultConfig(ctx, config.WithSharedCredentialsFiles([]string{string(file)}),
			config.WithSharedConfigFiles([]string{os.DevNull}))
	}))
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	res, err := d.file(t, src)
	if err != nil {
		t.Fatal(err)
	}
	g.ledger.holds(t, "/bucket/key", src.Size())
	refused, ofOne := g.refusals()
	if refused == 0 || refused > gateLanes || ofOne > 1 {
		t.Errorf("%d requests were refused, %d of one part; there are %d lanes", refused, ofOne, gateLanes)
	}
	g.noneSignedBy(t, "OLD")
	if reads.Load() != 2 {
		t.Errorf("the file was read %d times", reads.Load())
	}
	t.Logf("%d refused, %d mints, %d reads of the file", refused, res.Mints, reads.Load())
}

// noneSignedBy fails the test unless the first refusals, of what was in flight, were
// the last that the store saw of the key.
func (g *gate) noneSignedBy(t *testing.T, key string) {
	t.Helper()
	old, first := 0, -1
	for i, s := range g.arrived() {
		if s.refused && first < 0 {
			first = i
		}
		if first >= 0 && s.key == key {
			if old++; old > gateLanes || !s.refused || i > first+2*gateLanes {
				t.Errorf("request %d, %d after the first refusal, is signed by %s: %+v", i, i-first, key, s)
			}
		}
	}
}

// sessionMaker hands out sessions, the first of which will be over.
type sessionMaker struct {
	stays   bool // it hands out the first one for ever
	fetched atomic.Int32
}

func (m *sessionMaker) Retrieve(context.Context) (aws.Credentials, error) {
	token := "first"
	if m.fetched.Add(1) > 1 && !m.stays {
		token = "second"
	}
	return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret", SessionToken: token}, nil
}

// R29, https://github.com/milaboratory/platforma/pull/1476: a session's end comes as
// 400 ExpiredToken, and was taken for a bad request. Here from the seventh part on (2 s
// of 8 s in the scenario) the first session is over; other forms that stores have for
// it are in the tables of package wire.
func TestR29SessionEnds(t *testing.T) {
	src := check.Pattern(24 * mib)
	over := func() func(signed) *s3Error {
		arrived := 0
		return func(s signed) *s3Error {
			if s.op == rawstore.PutPart {
				arrived++
			}
			if arrived > 6 && s.token == "first" {
				return &s3Error{http.StatusBadRequest, "ExpiredToken", "The provided token has expired."}
			}
			return nil
		}
	}

	t.Run("there is a new one", func(t *testing.T) {
		check.Leaks(t)
		maker := &sessionMaker{}
		g := newGate(t, newLedger(t, src), over())
		d := g.desk(t, aws.NewCredentialsCache(maker))
		if _, err := d.file(t, src); err != nil {
			t.Fatal(err)
		}
		g.ledger.holds(t, "/bucket/key", src.Size())
		refused, ofOne := g.refusals()
		if maker.fetched.Load() != 1+1 || refused == 0 || refused > gateLanes || ofOne > 1 {
			t.Errorf("fetched %d times; %d requests were refused, %d of one part", maker.fetched.Load(), refused, ofOne)
		}
	})

	t.Run("there is none", func(t *testing.T) {
		check.Leaks(t)
		maker := &sessionMaker{stays: true}
		g := newGate(t, newLedger(t, src), over())
		d := g.desk(t, aws.NewCredentialsCache(maker))
		d.endpoint.Breaker = breaker.Options{OnChange: func(from, to breaker.State) { t.Errorf("the breaker went from %v to %v", from, to) }}
		begin := time.Now()
		_, err := d.file(t, src)
		took := time.Since(begin)
		if !errors.Is(err, multipart.ErrExpired) || !strings.Contains(err.Error(), "400 ExpiredToken") {
			t.Errorf("err = %v", err)
		}
		_, ofOne := g.refusals()
		// Each second there is one signature, and a part asks for three new ones.
		if refreshes := maker.fetched.Load() - 1; refreshes > 3 || refreshes == 0 || took > 3*time.Second || ofOne > 4 {
			t.Errorf("%d refreshes, %d refusals of one part in %v", refreshes, ofOne, took)
		}
		t.Logf("%v, %d fetches, %d of one part: %v", took, maker.fetched.Load(), ofOne, err)
	})
}
