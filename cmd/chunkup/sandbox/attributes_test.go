package sandbox

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/versity/versitygw/backend/meta"
	"pgregory.net/rapid"
)

// place is a bucket and an object in it, or the bucket itself.
type place struct{ bucket, object string }

// model is what attributes must hold.
type model struct {
	*attributes
	bucket func(place) string
	want   map[place]map[string]string
}

var (
	somewhere = rapid.SampledFrom([]place{
		{"objects", ""}, {"objects", "k"}, {"demo", ""}, {"demo", "k"}, {"demo", "=attributes"}, {"demo", "=="},
		{"demo", "objects"}, {"demo", filepath.FromSlash("dir/=attributes")}, {"demo", filepath.FromSlash("dir/=/k")},
	})
	someName = rapid.SampledFrom([]string{"etag", "acl", "checksums"})
)

// Attributes are what was stored for that place since its file was replaced,
// whatever happens to the places with similar names.
func TestAttributesAreAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "attributes")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		m := model{newAttributes(root), func(p place) string { return filepath.Join(root, p.bucket) }, map[place]map[string]string{}}
		t.Repeat(map[string]func(*rapid.T){
			"store":   func(t *rapid.T) { m.store(t, nil, m.somewhere(t)) },
			"replace": m.replace,
			"refused": func(t *rapid.T) { m.replacing(new(os.File))() },
			"delete":  m.delete,
			"forget":  m.forget,
			"":        m.check,
		})
	})
}

// somewhere is a place whose file exists.
func (m model) somewhere(t *rapid.T) place {
	p := somewhere.Draw(t, "place")
	if m.want[p] == nil {
		m.want[p] = map[string]string{}
	}
	if err := os.MkdirAll(filepath.Join(m.bucket(p), p.object), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func (m model) store(t *rapid.T, f *os.File, p place) {
	name, value := someName.Draw(t, "attribute"), rapid.StringN(0, 20, -1).Draw(t, "value")
	if err := m.StoreAttribute(f, m.bucket(p), p.object, name, []byte(value)); err != nil {
		t.Fatal(err)
	}
	m.want[p][name] = value
}

func (m model) replace(t *rapid.T) {
	p, f := m.somewhere(t), new(os.File)
	defer m.replacing(f)()
	clear(m.want[p])
	m.store(t, f, p)
	m.store(t, f, p)
}

func (m model) delete(t *rapid.T) {
	p, name := m.somewhere(t), someName.Draw(t, "attribute")
	err := m.DeleteAttribute(m.bucket(p), p.object, name)
	if _, ok := m.want[p][name]; ok != (err == nil) || !ok && !errors.Is(err, meta.ErrNoSuchKey) {
		t.Fatalf("delete %v %s: %v", p, name, err)
	}
	delete(m.want[p], name)
}

func (m model) forget(t *rapid.T) {
	p := m.somewhere(t)
	if err := m.DeleteAttributes(m.bucket(p), p.object); err != nil {
		t.Fatal(err)
	}
	for q := range m.want {
		if q == p || p.object == "" && q.bucket == p.bucket {
			clear(m.want[q])
		}
	}
}

func (m model) check(t *rapid.T) {
	if len(m.fresh) > 0 {
		t.Fatalf("%d files are still noted", len(m.fresh))
	}
	for p, want := range m.want {
		list, err := m.ListAttributes(m.bucket(p), p.object)
		slices.Sort(list)
		if err != nil || !slices.Equal(list, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("%v: %q, %v; want %q", p, list, err, want)
		}
		for name, value := range want {
			got, err := m.RetrieveAttribute(nil, m.bucket(p), p.object, name)
			if err != nil || string(got) != value {
				t.Fatalf("%v %s: %q, %v; want %q", p, name, got, err, value)
			}
		}
		if _, err := m.RetrieveAttribute(nil, m.bucket(p), p.object, "never"); !errors.Is(err, meta.ErrNoSuchKey) {
			t.Fatalf("%v: an attribute that is not there: %v", p, err)
		}
	}
}

// The list of 10,000 part sizes takes 55 kB. ext4 has 4 KiB for extended
// attributes.
func TestAttributesCanBeLarge(t *testing.T) {
	root := t.TempDir()
	a := newAttributes(root)
	if err := os.WriteFile(filepath.Join(root, "k"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := pattern(64 << 10)
	if err := a.StoreAttribute(nil, root, "k", "mp-metadata", want); err != nil {
		t.Fatal(err)
	}
	got, err := a.RetrieveAttribute(nil, root, "k", "mp-metadata")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestAttributesGoWithTheFile(t *testing.T) {
	root := t.TempDir()
	a := newAttributes(root)
	bucket := filepath.Join(root, "demo")
	if err := a.StoreAttribute(nil, bucket, "k", "etag", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.RetrieveAttribute(nil, bucket, "k", "etag"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a file that is not there: %v", err)
	}
	if got, err := a.RetrieveAttribute(new(os.File), bucket, "k", "etag"); err != nil || string(got) != "x" {
		t.Errorf("of a file that has no name yet: %q, %v", got, err)
	}
}

func TestAttributesStayInside(t *testing.T) {
	root := filepath.Join(t.TempDir(), "sandbox")
	a := newAttributes(root)
	for _, p := range []place{{root, "../x"}, {filepath.Join(root, ".."), "x"}, {filepath.Join(root, "demo"), "../../x"}} {
		if err := a.StoreAttribute(nil, p.bucket, p.object, "etag", nil); err == nil {
			t.Errorf("%v was stored", p)
		}
	}
	if names := names(filepath.Dir(root)); len(names) > 0 {
		t.Errorf("written outside: %q", names)
	}
}

func TestAttributesThatCannotBeRead(t *testing.T) {
	root := t.TempDir()
	a := newAttributes(root)
	bucket := filepath.Join(root, "demo")
	if err := a.StoreAttribute(nil, bucket, "", "acl", []byte("x")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, metaDir, "demo", metaFile)
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.StoreAttribute(nil, bucket, "", "acl", []byte("y")); err == nil {
		t.Error("a broken file was overwritten")
	}
	if _, err := a.ListAttributes(bucket, ""); err == nil {
		t.Error("a broken file was read")
	}
}
