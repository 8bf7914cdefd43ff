package integration

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/chunkup/chunkup/"

// mayImport is the architecture: what of ours each package may import. A new
// package needs a row; cmd and integration may import anything.
var mayImport = map[string][]string{
	"chunker":             nil,
	"budget":              nil,
	"breaker":             nil,
	"presign":             nil,
	"presign/s3presign":   {"presign"},
	"presign/mint":        {"presign", "multipart", "multipart/wire", "multipart/journal", "chunker"},
	"multipart/wire":      nil,
	"multipart/lanes":     nil,
	"multipart":           {"chunker", "budget", "breaker", "presign", "multipart/wire", "multipart/lanes", "multipart/journal"},
	"multipart/journal":   {"chunker"},
	"multipart/s3store":   {"multipart", "multipart/wire", "presign", "chunker"},
	"multipart/storetest": {"multipart", "multipart/wire", "presign", "chunker"},
}

func golist(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestImportsFollowTheArchitecture(t *testing.T) {
	for _, line := range golist(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...") {
		fields := strings.Fields(line)
		pkg := strings.TrimPrefix(fields[0], module)
		if strings.HasPrefix(pkg, "cmd/") || strings.HasPrefix(pkg, "integration") {
			continue
		}
		allowed, known := mayImport[pkg]
		if !known {
			t.Errorf("package %s has no row in the table of imports", pkg)
		}
		for _, imported := range fields[1:] {
			if ours, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s", pkg, ours)
			}
		}
	}
}

// Importing the library stays light: nothing of the command's, the sandbox's or
// the tests' dependencies comes with it.
func TestLibraryIsLight(t *testing.T) {
	deps := golist(t, "-deps", module+"multipart", module+"multipart/s3store", module+"presign/s3presign")
	for _, heavy := range []string{"spf13/", "versity/", "toxiproxy", "vbauerster/", "docker/", "redis", "opentelemetry", "prometheus", "rogpeppe/", "rapid", "net/http/httptest"} {
		for _, dep := range deps {
			if strings.Contains(dep, heavy) || dep == "testing" {
				t.Errorf("the library pulls in %s", dep)
			}
		}
	}
	for _, dep := range golist(t, "-deps", module+"multipart") {
		if strings.Contains(dep, "aws-sdk-go") {
			t.Errorf("multipart pulls in %s: a store's SDK belongs at its edge", dep)
		}
	}
}
