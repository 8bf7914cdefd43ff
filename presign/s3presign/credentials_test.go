package s3presign_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// sessions are credentials of which each lives so much longer than the last.
type sessions struct {
	mu      sync.Mutex
	fetched int
	ends    []time.Time
}

func (s *sessions) Retrieve(context.Context) (aws.Credentials, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := s.ends[min(s.fetched, len(s.ends)-1)]
	s.fetched++
	time.Sleep(10 * time.Millisecond)
	return aws.Credentials{AccessKeyID: "AK", SecretAccessKey: "SK", CanExpire: true, Expires: end}, nil
}

// A request signed with credentials that are over before it arrives is worth
// nothing: others are fetched first, once for all.
func TestCredentialsThatEndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		creds := &sessions{ends: []time.Time{time.Now().Add(10 * time.Second), time.Now().Add(time.Hour)}}
		p := s3presign.New(client(aws.NewCredentialsCache(creds)), 0)
		lives := func(at string, want time.Duration, fetched int) {
			t.Helper()
			r, err := p.Presign(t.Context(), aPart)
			if err != nil || time.Until(r.NotAfter) != want || creds.fetched != fetched {
				t.Errorf("%s: lives for %v, fetched %d times; %v", at, time.Until(r.NotAfter), creds.fetched, err)
			}
		}
		lives("first", 10*time.Second-10*time.Millisecond, 1)
		time.Sleep(7900 * time.Millisecond)
		lives("with the margin", 2090*time.Millisecond, 1)
		time.Sleep(100 * time.Millisecond)
		var g sync.WaitGroup
		for range 8 {
			g.Go(func() { lives("within the margin", 15*time.Minute, 2) })
		}
		g.Wait()
	})
}

// Where there are no better ones, nobody asks for ever.
func TestCredentialsThatStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		creds := &sessions{ends: []time.Time{time.Now().Add(time.Second)}}
		p := s3presign.New(client(aws.NewCredentialsCache(creds)), 0)
		for range 5 {
			r, err := p.Presign(t.Context(), aPart)
			if err != nil || time.Until(r.NotAfter) > time.Second {
				t.Fatalf("lives for %v; %v", time.Until(r.NotAfter), err)
			}
		}
		if creds.fetched != 2 {
			t.Errorf("fetched %d times", creds.fetched)
		}
	})
}

// All parts find out at once, and what they get is no better: the source of the
// credentials is left in peace.
func TestRenewIsNoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		creds := &sessions{ends: []time.Time{time.Now().Add(time.Hour)}}
		p := s3presign.New(client(aws.NewCredentialsCache(creds)), 0)
		p.Presign(t.Context(), aPart)
		for range 40 { // 4 s
			p.Renew(t.Context())
			p.Presign(t.Context(), aPart)
			time.Sleep(100 * time.Millisecond)
		}
		if creds.fetched != 1+2 {
			t.Errorf("fetched %d times", creds.fetched)
		}
	})
}

// keyOf is the key id of a URL.
func keyOf(t *testing.T, p *s3presign.Presigner) string {
	t.Helper()
	r, err := p.Presign(t.Context(), aPart)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	id, _, _ := strings.Cut(u.Query().Get("X-Amz-Credential"), "/")
	return id
}

// The shared file is replaced while the process runs.
func TestReread(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	write := func(id string) {
		t.Helper()
		text := "[default]\naws_access_key_id = " + id + "\naws_secret_access_key = S\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	write("OLD")
	p := s3presign.New(client(s3presign.Reread(func(ctx context.Context) (aws.Config, error) { return config.LoadDefaultConfig(ctx) })), 0)
	first := keyOf(t, p)
	write("NEW")
	cached := keyOf(t, p)
	if err := p.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if renewed := keyOf(t, p); first != "OLD" || cached != "OLD" || renewed != "NEW" {
		t.Errorf("%s, then %s, renewed %s", first, cached, renewed)
	}
}

func TestRereadNothing(t *testing.T) {
	broken := errors.New("no such profile")
	for want, cfg := range map[error]func(context.Context) (aws.Config, error){
		broken:                 func(context.Context) (aws.Config, error) { return aws.Config{}, broken },
		presign.ErrCredentials: func(context.Context) (aws.Config, error) { return aws.Config{}, nil },
	} {
		if _, err := s3presign.Reread(cfg).Retrieve(t.Context()); !errors.Is(err, want) {
			t.Errorf("err = %v, want %v", err, want)
		}
	}
	kept := func(context.Context) (aws.Config, error) {
		return aws.Config{Credentials: credentials.NewStaticCredentialsProvider("AK", "SK", "T")}, nil
	}
	if c, err := s3presign.Reread(kept).Retrieve(t.Context()); err != nil || c.SessionToken != "T" {
		t.Errorf("%v, %v", c, err)
	}
}
