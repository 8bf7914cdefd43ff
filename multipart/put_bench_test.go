package multipart_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// One object in one PUT, from the file to the receipt, against a server in this process
// that reads what it is sent and keeps nothing. Its share of the processor is in
// the figures. In a row it is the time that one file takes; at once, with as many
// uploads as the command runs, it is what the machine is good for.
func BenchmarkPut(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20} {
		b.Run(strconv.Itoa(size>>10)+"KiB", func(b *testing.B) {
			b.Run("row", func(b *testing.B) {
				put := newPuts(b, size)
				for b.Loop() {
					put.one(b, &multipart.Options{Endpoint: put.endpoint})
				}
			})
			b.Run("once", func(b *testing.B) {
				put := newPuts(b, size)
				b.SetParallelism(32)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						put.one(b, &multipart.Options{Endpoint: put.endpoint})
					}
				})
			})
			b.Run("watched", func(b *testing.B) { // as by a progress bar
				put := newPuts(b, size)
				b.SetParallelism(32)
				var events atomic.Int64
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						put.one(b, &multipart.Options{Endpoint: put.endpoint, OnEvent: func(multipart.Event) { events.Add(1) }})
					}
				})
			})
		})
	}
}

// puts are the uploads of one file to one store.
type puts struct {
	control  *s3store.Store
	provider *s3presign.Presigner
	endpoint *multipart.Endpoint
	file     string
	count    atomic.Int64
}

func newPuts(b *testing.B, size int) *puts {
	b.Helper()
	profile, err := s3store.ByName("minio")
	if err != nil {
		b.Fatal(err)
	}
	p := &puts{file: filepath.Join(b.TempDir(), "file")}
	if err := os.WriteFile(p.file, bytes.Repeat([]byte("chunkup "), size/8), 0o600); err != nil {
		b.Fatal(err)
	}
	cfg := aws.Config{Region: profile.Region, Credentials: credentials.NewStaticCredentialsProvider("AK", "SK", "")}
	connections := wire.NewClient(wire.Options{})
	client := s3store.NewClient(cfg, profile, discarding(b), connections)
	p.control, p.provider = s3store.New(client, profile, connections), s3presign.NewDirect(client)
	p.endpoint = multipart.NewEndpoint(multipart.EndpointOptions{Client: connections})
	b.Cleanup(p.endpoint.CloseIdle)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	return p
}

// one uploads the file once more, under a key of its own.
func (p *puts) one(b *testing.B, o *multipart.Options) {
	u, err := multipart.New(p.control, p.provider, o)
	if err != nil {
		b.Error(err)
		return
	}
	object := multipart.Object{Bucket: "bucket", Key: fmt.Sprintf("some/folder/file-%07d", p.count.Add(1))}
	if _, err := u.UploadFile(b.Context(), object, p.file); err != nil {
		b.Error(err)
	}
}

// discarding serves HTTP that takes every body and keeps none, at as little cost as
// there can be: net/http's server would be half of the figures.
func discarding(b *testing.B) (url string) {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go discard(conn)
		}
	}()
	return "http://" + listener.Addr().String()
}

// discard answers each request on a connection with 200 and an ETag.
func discard(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 64<<10)
	for {
		size := int64(0)
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return
			}
			if line = bytes.TrimSpace(line); len(line) == 0 {
				break
			}
			name, value, _ := bytes.Cut(line, []byte(": "))
			if bytes.EqualFold(name, []byte("Content-Length")) {
				size, _ = strconv.ParseInt(string(value), 10, 64)
			}
		}
		if _, err := io.CopyN(io.Discard, r, size); err != nil {
			return
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nETag: \"0-of-it-was-kept\"\r\nContent-Length: 0\r\n\r\n"); err != nil {
			return
		}
	}
}
