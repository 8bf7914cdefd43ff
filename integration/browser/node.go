package browser

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// The least Node that Companion 6 runs on: engines in its package.json says
// "^20.19.3 || >=22.0.0". Debian 12 has 18, Debian 13 has 20.19.2.
// https://github.com/transloadit/uppy/blob/main/packages/@uppy/companion/package.json
const wantedNode = "20.19.3 or later, or 22 or later"

// newEnough says whether a version as `node --version` prints it, "v20.19.3", is one
// of the wanted.
func newEnough(version string) bool {
	var n [3]int
	numbers := strings.SplitN(strings.TrimPrefix(strings.TrimSpace(version), "v"), ".", 3)
	for i, s := range numbers {
		var err error
		if n[i], err = strconv.Atoi(s); err != nil {
			return false
		}
	}
	return n[0] >= 22 || n[0] == 20 && (n[1] > 19 || n[1] == 19 && n[2] >= 3)
}

// node returns the path of Node: the system's, or else one from npm, which testdata's
// folder node names. npm itself runs on an older Node.
func node(ctx context.Context, cache, testdata, npm string) (string, error) {
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err == nil && newEnough(string(out)) {
		return exec.LookPath("node")
	}
	dir, err := install(ctx, cache, filepath.Join(testdata, "node"), npm)
	if err != nil {
		return "", fmt.Errorf("no Node %s on the system, and none came from npm: %w", wantedNode, err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", "node-*", "bin", "node"))
	if err != nil || len(found) == 0 {
		return "", errors.New("no Node found for this system: install " + wantedNode)
	}
	return found[0], nil
}
