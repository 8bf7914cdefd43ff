package multipart_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// newUploader is over a store in memory, with 1 MiB parts and a journal.
func newUploader(store *storetest.Mem, dir *journal.Dir) *multipart.Uploader {
	u, err := multipart.New(store, store, &multipart.Options{
		Endpoint: multipart.NewEndpoint(multipart.EndpointOptions{Client: store.Client()}),
		PartSize: 1 << 20, Threshold: 1 << 20, Journal: dir,
	})
	if err != nil {
		log.Fatal(err)
	}
	return u
}

// An upload that was interrupted goes on when it is called again, in this process or
// the next: the error names the journal that makes it possible.
func ExampleUploader_Upload_resume() {
	store := storetest.NewMem(wire.Limits{})
	defer store.Close()
	folder, err := os.MkdirTemp("", "journals")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	uploader := newUploader(store, journal.Open(folder))
	source := chunker.NewReaderAt(strings.NewReader(strings.Repeat("x", 5<<20)), 5<<20)
	object := multipart.Object{Bucket: "bucket", Key: "key"}

	store.Script(storetest.Fault{Op: wire.Complete, Status: 403, Code: "AccessDenied"}) // somebody forgot a right
	_, err = uploader.Upload(context.Background(), object, source)
	var failed *multipart.Error
	fmt.Println("can go on:", errors.As(err, &failed) && failed.Journal != "")

	result, err := uploader.Upload(context.Background(), object, source)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Resumed, "of", result.Parts, "parts were there")
	// Output:
	// can go on: true
	// 5 of 5 parts were there
}

// Resume every interrupted upload of files that the journals in a folder tell of.
func ExampleUploader_Resume() {
	store := storetest.NewMem(wire.Limits{})
	defer store.Close()
	folder, err := os.MkdirTemp("", "journals")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	journals := journal.Open(folder)
	uploader := newUploader(store, journals)

	entries, err := journals.List()
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		if e.Err != nil || e.Live { // another process is at it
			continue
		}
		if _, err := uploader.Resume(context.Background(), e.Record); err != nil {
			log.Print(err)
		}
	}
}

// Drop what an interrupted upload has left at the store.
func ExampleUploader_Abort() {
	store := storetest.NewMem(wire.Limits{})
	defer store.Close()
	uploader := newUploader(store, nil)
	upload, err := store.Create(context.Background(), multipart.Intent{Bucket: "bucket", Key: "key"})
	if err != nil {
		log.Fatal(err)
	}
	if err := uploader.Abort(context.Background(), upload); err != nil {
		log.Fatal(err)
	}
	fmt.Println(store.Uploads(), "unfinished uploads are left")
	// Output: 0 unfinished uploads are left
}

// Upload what a writer produces, of a size that nobody knows.
func ExampleUploader_UploadStream() {
	store := storetest.NewMem(wire.Limits{})
	defer store.Close()
	uploader := newUploader(store, nil)
	reader, writer := io.Pipe()
	go func() {
		for range 3 {
			io.WriteString(writer, strings.Repeat("log line\n", 100_000))
		}
		writer.CloseWithError(nil) // any other error and there is no object
	}()
	result, err := uploader.UploadStream(context.Background(), multipart.Object{Bucket: "bucket", Key: "log"}, reader, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Size, "bytes in", result.Parts, "parts")
	// Output: 2700000 bytes in 3 parts
}

// The same call twice, here or on another machine, makes one object.
func ExampleObject_idempotencyKey() {
	store := storetest.NewMem(wire.Limits{})
	defer store.Close()
	uploader := newUploader(store, nil)
	object := multipart.Object{Bucket: "bucket", Key: "invoice", IdempotencyKey: "invoice 2026-11-30/17"}
	for range 2 {
		result, err := uploader.Upload(context.Background(), object, chunker.NewReaderAt(strings.NewReader("paid"), 4))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("was there:", result.Existing, "bytes sent:", result.SentBytes)
	}
	// Output:
	// was there: false bytes sent: 4
	// was there: true bytes sent: 0
}
