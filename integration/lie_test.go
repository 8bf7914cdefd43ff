package integration

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
)

// liar is a store that is taken for what a profile says, and its lies.
type liar struct {
	profile string
	single  bool // about uploads in one PUT
	lies    []lie
}

// seen are the lies that must be found out.
func seen() []liar {
	both := slices.Concat(
		kept(rawstore.PutPart), kept(rawstore.Complete), noSuccess(false), noSuccess(true),
		[]lie{
			says("says another ETag of a part", rawstore.PutPart, 2, anotherETag),
			says("says another ETag of the object", rawstore.Complete, 0, anotherETag),
		})
	one := kept(rawstore.PutObject, "drops")
	// An ETag of one PUT that is not an MD5 of what was sent may be none; the
	// checksum proves it.
	opaque := says("says another ETag of the object", rawstore.PutObject, 0, anotherETag)
	opaque.well = true
	return []liar{
		{"minio", false, slices.Concat(both, denied(rawstore.PutPart, "drops"), []lie{
			says("says another checksum of a part", rawstore.PutPart, 2, anotherChecksum),
			says("says another checksum of the object", rawstore.Complete, 0, anotherChecksum),
		})},
		{"minio", true, slices.Concat(one, []lie{opaque,
			says("says another checksum of the object", rawstore.PutObject, 0, anotherChecksum),
		})},
		{"generic", false, slices.Concat(both,
			denied(rawstore.PutPart, "drops", "swaps", "flips a bit of"), denied(rawstore.Complete, "swaps", "flips a bit of"))},
		{"generic", true, slices.Concat(one, []lie{
			says("says another ETag of the object", rawstore.PutObject, 0, anotherETag),
		})},
	}
}

// unseen are lies that no uploader finds out without reading the object back: the
// store keeps other bytes than it was sent, and says in every answer what would be
// true of those. Of one PUT, and of a full-object checksum at Complete, there is no
// other answer; an ETag of MD5s is made of what the store says of the parts, and is
// followed only by a question for the size.
func unseen() []liar {
	return []liar{
		{"minio", false, denied(rawstore.Complete)},
		{"generic", false, slices.Concat(
			denied(rawstore.PutPart, "drops", "doubles", "truncates"), denied(rawstore.Complete, "drops", "doubles", "truncates"))},
		{"minio", true, denied(rawstore.PutObject)},
		{"generic", true, denied(rawstore.PutObject)},
	}
}

// lab is an upload of five parts and a bit.
func (c liar) lab(times int) *lieLab {
	l := &lieLab{profile: c.profile, threshold: -1, times: times, src: check.Pattern(5*64*kib + 1000)}
	if c.single {
		l.threshold = 1 << 30
	}
	return l
}

func (c liar) name(told lie) string {
	if c.single {
		return fmt.Sprintf("%s, %s in one PUT", c.profile, told.name)
	}
	return fmt.Sprintf("%s, %s", c.profile, told.name)
}

// A store that lies is not believed: an upload ends well only if the object is
// right, however often it had to try.
func TestLie(t *testing.T) {
	for _, c := range seen() {
		for _, told := range c.lies {
			t.Run(c.name(told), func(t *testing.T) {
				check.Leaks(t)
				l := c.lab(-1)
				_, err := l.upload(t, told)
				t.Logf("told for ever: %v", err)
				l.isNotBelieved(t, told, err)
				if well := err == nil; well != told.well {
					t.Errorf("ended well: %t", well)
				}
			})
			t.Run(c.name(told)+", once", func(t *testing.T) {
				check.Leaks(t)
				l := c.lab(1)
				_, err := l.upload(t, told)
				t.Logf("told once: %v", err)
				l.isNotBelieved(t, told, err)
				if told.heals && err != nil {
					t.Errorf("it does not heal: %v", err)
				}
			})
		}
	}
}

func (l *lieLab) isNotBelieved(t *testing.T, told lie, err error) {
	t.Helper()
	if len(l.store.Of(told.op, told.part)) == 0 {
		t.Fatal("nobody was lied to")
	}
	if err == nil && !l.right() {
		t.Error("it ended well, and the object is not what was sent")
	}
}

// What cannot be seen is known to be so: a lie that is found out here belongs to
// the others. TestLieCommand shows that verify --read finds them.
func TestLieUnseen(t *testing.T) {
	for _, c := range unseen() {
		for _, told := range c.lies {
			t.Run(c.name(told), func(t *testing.T) {
				check.Leaks(t)
				l := c.lab(-1)
				if _, err := l.upload(t, told); err != nil {
					t.Errorf("it is seen: %v", err)
				}
				if l.right() {
					t.Error("it is no lie")
				}
			})
		}
	}
}
