//go:build !full

package storm

// Small enough for every run of the tests.
const (
	full       = false
	clients    = 10
	seeds      = 3
	rivalSeeds = 1
)

func policies() []Policy { return Policies() }
