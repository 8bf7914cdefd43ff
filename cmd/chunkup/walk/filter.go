package walk

// Filter chooses keys by patterns, in the order they were added: of those that match a
// key the last one decides, and a key that none matches is included. So to upload only
// some, exclude "*" first and then include them.
//
// A pattern is matched against a whole key, letter case included. In it, * stands for any
// characters, slashes too (** is the same), ? for any one character, [a-z0] for one of
// those, and [!a-z0] for one that is none of those; a ] that comes first in the brackets
// stands for itself, and so [*] stands for a star. Nothing else is special. These are the
// patterns of the AWS CLI
// (https://docs.aws.amazon.com/cli/latest/reference/s3/#use-of-exclude-and-include-filters).
// On Windows a backslash in a pattern is a slash.
//
// The zero Filter includes everything. A Filter may be copied, and the copies do not share
// what is added later; several goroutines may match with one at once.
type Filter struct {
	rules []rule
}

type rule struct {
	glob    glob
	include bool
}

// Include adds a pattern whose keys are in. It returns a *PatternError, and adds nothing,
// if the pattern is malformed or no key could ever match it.
func (f *Filter) Include(pattern string) error { return f.add(pattern, true) }

// Exclude adds a pattern whose keys are out. Its errors are those of Include.
func (f *Filter) Exclude(pattern string) error { return f.add(pattern, false) }

func (f *Filter) add(pattern string, include bool) error {
	g, err := parseGlob(pattern)
	if err != nil {
		return err
	}
	f.rules = append(f.rules[:len(f.rules):len(f.rules)], rule{glob: g, include: include})
	return nil
}

// Match tells whether a key is in.
func (f Filter) Match(key string) bool {
	for i := len(f.rules) - 1; i >= 0; i-- {
		if f.rules[i].glob.match(key) {
			return f.rules[i].include
		}
	}
	return true
}

// misses tells whether provably no longer key that begins with a prefix is in: each is out
// by one pattern, and none that comes after it could let one in.
func (f Filter) misses(prefix string) bool {
	for i := len(f.rules) - 1; i >= 0; i-- {
		switch g := f.rules[i].glob; {
		case f.rules[i].include && g.reaches(prefix):
			return false
		case !f.rules[i].include && g.covers(prefix):
			return true
		}
	}
	return false
}
