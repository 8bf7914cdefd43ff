package chunker_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain has the properties try 10,000 cases, unless the command line says
// how many: rapid's own default of 100 is too few for arithmetic.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("10000"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	m.Run()
}
