package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine says what a run was made on.
func machine() string {
	text := fmt.Sprintf("%d × %s", runtime.NumCPU(), processor())
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		text += ", Linux " + strings.TrimSpace(string(release))
	} else {
		text += ", " + runtime.GOOS
	}
	return text + ", " + runtime.Version()
}

func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // without it there is no model
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
