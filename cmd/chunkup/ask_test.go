package main

import (
	"context"
	"errors"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
)

// mute is a client of a store that takes connections and says nothing.
func mute(t *testing.T) *wire.Client {
	return wire.NewClient(wire.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		t.Cleanup(func() { server.Close() })
		go func() {
			for b := make([]byte, 1024); ; {
				if _, err := server.Read(b); err != nil {
					return
				}
			}
		}()
		return client, nil
	}})
}

// No question before the first upload may take for ever.
func TestQuestionsAreBounded(t *testing.T) {
	blocked := aws.Config{Region: "eu-west-1", Credentials: aws.CredentialsProviderFunc(
		func(ctx context.Context) (aws.Credentials, error) {
			<-ctx.Done()
			return aws.Credentials{}, ctx.Err()
		})}
	for name, ask := range map[string]func(*testing.T){
		"what the store is": func(t *testing.T) {
			p, err := (&storeFlags{addressing: "auto"}).findProfile(t.Context(), mute(t), "http://store.example")
			if err != nil || p.Name != "generic" {
				t.Errorf("profile %q, %v", p.Name, err)
			}
		},
		"where the bucket is": func(t *testing.T) {
			p, _ := s3store.ByName("aws")
			region, err := findRegion(t.Context(), blocked, p, mute(t), "bucket")
			if err != nil || region != "eu-west-1" {
				t.Errorf("region %q, %v", region, err)
			}
		},
		"who asks": func(t *testing.T) {
			if err := findCredentials(t.Context(), blocked); !errors.Is(err, multipart.ErrCredentials) {
				t.Errorf("error %v", err)
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ask(t)
			if took := time.Since(began); took != askLimit {
				t.Errorf("%s took %v to ask, want %v", name, took, askLimit)
			}
		})
	}
}

// The end of the command's time is no lack of credentials.
func TestTimeoutWhileAsking(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sleep")
	}
	home := isolate(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	write(t, home+"/config", "[default]\ncredential_process = sleep 5\n")
	newFake(t).cp(t, file(t, "big", "x"), "s3://bucket/key", "--timeout", "50ms").want(t, exitFailed).oneLine(t, "--timeout")
}
