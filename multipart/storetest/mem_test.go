package storetest_test

import (
	"testing"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

var (
	_ multipart.UploadLister = (*storetest.Mem)(nil)
	_ multipart.RangeReader  = (*storetest.Mem)(nil)
)

func TestMem(t *testing.T) {
	for name, edit := range map[string]func(*multipart.Traits){
		"full object": func(*multipart.Traits) {},
		"composite":   func(t *multipart.Traits) { t.Algorithm, t.FullObject = chunker.CRC32C, false },
		"SHA-256":     func(t *multipart.Traits) { t.Algorithm, t.FullObject = chunker.SHA256, false },
		"MD5":         func(t *multipart.Traits) { t.Algorithm, t.FullObject, t.CreateOnly = chunker.MD5, false, false },
		"Google":      func(t *multipart.Traits) { t.Algorithm, t.GoogHash, t.CreateOnly = chunker.CRC32C, true, false },
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Store {
				m := storetest.NewMem(wire.Limits{})
				t.Cleanup(m.Close)
				traits := m.Traits()
				edit(&traits)
				m.SetTraits(traits)
				return storetest.Store{Control: m, Provider: m, Client: m.Client(), Bucket: "bucket", PartSize: 1000}
			})
		})
	}
}
