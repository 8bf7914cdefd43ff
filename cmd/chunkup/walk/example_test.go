package walk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/chunkup/chunkup/cmd/chunkup/walk"
)

func ExampleWalk() {
	root, err := os.MkdirTemp("", "walk")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	for _, name := range []string{"notes.txt", "notes.tmp", "photos/1.jpg"} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("some bytes"), 0o644)); err != nil {
			log.Fatal(err)
		}
	}

	var o walk.Options
	if err := o.Filter.Exclude("*.tmp"); err != nil {
		log.Fatal(err)
	}
	for file, err := range walk.Walk(context.Background(), root, o) {
		if skip, ok := errors.AsType[*walk.SkipError](err); ok {
			fmt.Println("warning:", skip)
		} else if err != nil {
			fmt.Println("failed:", err)
		} else {
			fmt.Println(file.Key, file.Size)
		}
	}
	// Output:
	// notes.txt 10
	// photos/1.jpg 10
}

func ExampleFilter() {
	var f walk.Filter
	for _, err := range []error{f.Exclude("*"), f.Include("*.jpg"), f.Exclude("private/*")} {
		if err != nil {
			log.Fatal(err)
		}
	}
	for _, key := range []string{"a.jpg", "2026/b.jpg", "private/c.jpg", "notes.txt"} {
		fmt.Println(key, f.Match(key))
	}
	// Output:
	// a.jpg true
	// 2026/b.jpg true
	// private/c.jpg false
	// notes.txt false
}

func ExampleList() {
	for source, err := range walk.List(strings.NewReader("a.iso\nphotos\n"), false) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(source)
	}
	// Output:
	// a.iso
	// photos
}
