//go:build full

package storm

// What the documents show.
const (
	full       = true
	clients    = 60
	seeds      = 5
	rivalSeeds = 5
)

func policies() []Policy { return append(Policies(), Ablations()...) }
