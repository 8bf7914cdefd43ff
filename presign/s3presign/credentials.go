package s3presign

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/chunkup/chunkup/presign"
)

// margin is how long credentials must still be good for when a request is signed
// with them: it has to reach the store.
const margin = 2 * time.Second

// renewEvery is how often credentials are forgotten because a store refused them. A
// source that has none but these is not asked by all parts again and again; and those
// who notice at the same moment need one renewal.
const renewEvery = 2 * time.Second

// credentials are those of the client, new ones when the old ones are about to end.
type credentials struct {
	provider aws.CredentialsProvider // nil: anonymous
	clock    *presign.Clock

	mu      sync.Mutex
	last    time.Time // the end of those that were dropped before it
	renewed time.Time // when they were last forgotten
}

// get returns them, and how much longer they are good for, by the store's clock, for it
// is the store that looks.
func (c *credentials) get(ctx context.Context) (aws.Credentials, time.Duration, error) {
	if c.provider == nil {
		return aws.Credentials{}, math.MaxInt64, nil
	}
	creds, err := c.provider.Retrieve(ctx)
	if err == nil && c.isEnding(creds) {
		c.drop(creds)
		creds, err = c.provider.Retrieve(ctx)
	}
	if err != nil || !creds.CanExpire {
		return creds, math.MaxInt64, err
	}
	return creds, creds.Expires.Sub(c.clock.Now()), nil
}

func (c *credentials) isEnding(creds aws.Credentials) bool {
	return creds.CanExpire && creds.Expires.Sub(c.clock.Now()) < margin
}

// drop forgets credentials that are about to end, once: if there are none that live
// longer, nobody asks again.
func (c *credentials) drop(creds aws.Credentials) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !creds.Expires.Equal(c.last) {
		c.last = creds.Expires
		c.forget()
	}
}

// renew forgets credentials that were refused, unless that has just been done.
func (c *credentials) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.renewed.IsZero() || now.Sub(c.renewed) >= renewEvery {
		c.renewed = now
		c.forget()
	}
}

// forget empties the cache, which the client's control calls use as well.
func (c *credentials) forget() {
	if cache, ok := c.provider.(*aws.CredentialsCache); ok {
		cache.Invalidate()
	}
}

// Reread returns credentials that are loaded anew each time they are asked for, from
// wherever load finds them: the SDK's own configuration reads the shared files and
// the environment once, and keeps what it found for ever. They are cached until they
// end or until [Presigner.Renew].
//
//	cfg.Credentials = s3presign.Reread(func(ctx context.Context) (aws.Config, error) {
//		return config.LoadDefaultConfig(ctx)
//	})
func Reread(load func(context.Context) (aws.Config, error)) *aws.CredentialsCache {
	return aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		cfg, err := load(ctx)
		if err != nil {
			return aws.Credentials{}, err
		}
		if cfg.Credentials == nil {
			return aws.Credentials{}, presign.ErrCredentials
		}
		return cfg.Credentials.Retrieve(ctx)
	}))
}
