// Package peer uploads with the two uploaders of aws-sdk-go-v2 as they are, so
// that they can be measured in a process of their own.
package peer

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"
)

// job is one run.
type job struct {
	source      string
	bucket, key string // for a folder the key is a prefix
	part        int64  // 0: the peer's own
	concurrency int    // 0: the peer's own
	files       int    // at once, from a folder
}

// Run is the command
//
//	peer manager|transfermanager [flags] SOURCE s3://bucket/key
//
// Endpoint, credentials and CA come from AWS's variables.
func Run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("peer: which one? manager or transfermanager")
	}
	var j job
	f := flag.NewFlagSet("peer", flag.ContinueOnError)
	f.Int64Var(&j.part, "part-size", 0, "bytes of a part; 0: the peer's own")
	f.IntVar(&j.concurrency, "concurrency", 0, "parts at once; 0: the peer's own")
	f.IntVar(&j.files, "files", 0, "files of a folder at once; 0: as many as the peer's own concurrency")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	target, ok := strings.CutPrefix(f.Arg(1), "s3://")
	if f.NArg() != 2 || !ok {
		return fmt.Errorf("peer: SOURCE s3://bucket/key, not %q", f.Args())
	}
	j.source = f.Arg(0)
	j.bucket, j.key, _ = strings.Cut(target, "/")
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	client := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
	switch args[0] {
	case "manager":
		return j.manager(ctx, client)
	case "transfermanager":
		return j.transfermanager(ctx, client)
	}
	return fmt.Errorf("peer: there is no %q", args[0])
}

func (j *job) transfermanager(ctx context.Context, client *s3.Client) error {
	c := transfermanager.New(client, func(o *transfermanager.Options) {
		if j.part > 0 {
			o.PartSizeBytes = j.part
		}
		if n := max(j.concurrency, j.files); n > 0 {
			o.Concurrency = n
		}
	})
	info, err := os.Stat(j.source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		all, prefix := true, strings.TrimSuffix(j.key, "/")
		_, err := c.UploadDirectory(ctx, &transfermanager.UploadDirectoryInput{Bucket: &j.bucket, Source: &j.source, Recursive: &all, KeyPrefix: &prefix})
		return err
	}
	return j.each(ctx, 1, func(ctx context.Context, key string, f *os.File) error {
		_, err := c.UploadObject(ctx, &transfermanager.UploadObjectInput{Bucket: &j.bucket, Key: &key, Body: f})
		return err
	})
}

// each uploads the source, or the files in it, some at once.
func (j *job) each(ctx context.Context, files int, upload func(context.Context, string, *os.File) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(files)
	err := filepath.WalkDir(j.source, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		key := j.key
		if name != j.source {
			inside, err := filepath.Rel(j.source, name)
			if err != nil {
				return err
			}
			key = path.Join(key, filepath.ToSlash(inside))
		}
		g.Go(func() error {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			defer f.Close()
			return upload(ctx, key, f)
		})
		return ctx.Err()
	})
	if failed := g.Wait(); failed != nil {
		return failed
	}
	return err
}
