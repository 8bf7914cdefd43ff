package storetest_test

import (
	"testing"

	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

func TestMem(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Store {
		m := storetest.NewMem(wire.Limits{})
		t.Cleanup(m.Close)
		return storetest.Store{Control: m, Provider: m, Client: m.Client(), Bucket: "bucket", PartSize: 1000}
	})
}
