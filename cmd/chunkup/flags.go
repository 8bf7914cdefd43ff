package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// label is the name of a flag and what is said of it.
type label struct {
	name, short string
	def         string // as the user would write it
	kind        string // SIZE, RATE, …
	usage       string
}

// value is a flag whose text parse turns into a T, or refuses.
type value[T any] struct {
	to    *T
	text  string // as it was given
	kind  string
	parse func(string) (T, error)
}

// Set implements pflag.Value.
func (v *value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err != nil {
		return err
	}
	*v.to, v.text = parsed, text
	return nil
}

// String implements pflag.Value.
func (v *value[T]) String() string { return v.text }

// Type implements pflag.Value; --help shows it as the name of the value.
func (v *value[T]) Type() string { return v.kind }

// define adds a flag. Its default is read as if it had been given.
func define[T any](set *pflag.FlagSet, to *T, f label, parse func(string) (T, error)) {
	v := &value[T]{to: to, kind: f.kind, parse: parse}
	if f.def != "" {
		if err := v.Set(f.def); err != nil {
			panic(fmt.Sprintf("default of --%s: %v", f.name, err))
		}
	}
	set.VarP(v, f.name, f.short, f.usage)
}

// pairs is a flag k=v that repeats.
type pairs struct {
	check func(key, value string) error
	list  [][2]string
}

// Set implements pflag.Value.
func (p *pairs) Set(text string) error {
	k, v, ok := strings.Cut(text, "=")
	if !ok || k == "" {
		return fmt.Errorf("%q is not of the form k=v", text)
	}
	if err := p.check(k, v); err != nil {
		return err
	}
	p.list = append(p.list, [2]string{k, v})
	return nil
}

// String implements pflag.Value.
func (p *pairs) String() string { return "" }

// Type implements pflag.Value.
func (p *pairs) Type() string { return "k=v" }

const variablePrefix = "CHUNKUP_"

// variable is the environment variable that sets a flag.
func variable(name string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// setByVariable is the annotation of a flag that its variable has set.
const setByVariable = "chunkup_variable"

// variableValue is a flag to which it matters that its variable sets it.
type variableValue interface{ setVariable(text string) error }

// fromEnvironment sets the flags that were not given from their variables. An
// empty variable sets nothing. A flag set so does not count as given.
func fromEnvironment(set *pflag.FlagSet, getenv func(string) string) error {
	var failed error
	set.VisitAll(func(f *pflag.Flag) {
		text := getenv(variable(f.Name))
		if failed != nil || f.Changed || f.Name == "help" || text == "" {
			return
		}
		set := f.Value.Set
		if v, ok := f.Value.(variableValue); ok {
			set = v.setVariable
		}
		switch err := set(text); {
		case err != nil && mayBeSecret(f):
			failed = usagef("invalid value of %s: %w", variable(f.Name), err)
		case err != nil:
			failed = usagef("invalid value %q of %s: %w", text, variable(f.Name), err)
		}
		f.Annotations = map[string][]string{setByVariable: {text}}
	})
	return failed
}

// oneOf accepts one of the names.
func oneOf(names ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(names, text) {
			return "", fmt.Errorf("use one of %s", strings.Join(names, ", "))
		}
		return text, nil
	}
}

func anyText(text string) (string, error) { return text, nil }

// longerThanZero reads a duration.
func longerThanZero(text string) (time.Duration, error) {
	d, err := zeroOrLonger(text)
	if err == nil && d == 0 {
		return 0, errors.New("it must be longer than zero")
	}
	return d, err
}

// zeroOrLonger reads a duration of which zero means none or for ever.
func zeroOrLonger(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration such as 500ms, 15s or 1m30s", text)
	case d < 0:
		return 0, errors.New("it must not be negative")
	}
	return d, nil
}

// atLeast reads a whole number.
func atLeast(least int) func(string) (int, error) {
	return func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%q is not a whole number", text)
		case n < least:
			return 0, fmt.Errorf("it must be at least %d", least)
		}
		return n, nil
	}
}

// zeroOrMore reads a number.
func zeroOrMore(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil, math.IsNaN(x), math.IsInf(x, 0):
		return 0, fmt.Errorf("%q is not a number", text)
	case x < 0:
		return 0, errors.New("it must not be negative")
	}
	return x, nil
}
