package main

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// sizeUnits are what may follow a number of bytes, in lower case. A unit with
// an i is binary, one without is decimal: the libraries for this take MB and
// MiB for the same.
var sizeUnits = map[string]int64{
	"": 1, "b": 1,
	"k": 1e3, "kb": 1e3, "ki": 1 << 10, "kib": 1 << 10,
	"m": 1e6, "mb": 1e6, "mi": 1 << 20, "mib": 1 << 20,
	"g": 1e9, "gb": 1e9, "gi": 1 << 30, "gib": 1 << 30,
	"t": 1e12, "tb": 1e12, "ti": 1 << 40, "tib": 1 << 40,
	"p": 1e15, "pb": 1e15, "pi": 1 << 50, "pib": 1 << 50,
}

var sizePattern = regexp.MustCompile(`^([0-9]{1,20}(?:\.[0-9]{1,20})?) ?([A-Za-z]*)$`)

// parseSize reads 16MiB, 16MB, 1.5GiB; a bare number is bytes. What is left of
// a byte is dropped.
func parseSize(text string) (int64, error) {
	m := sizePattern.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%q is not a size such as 16MiB, 16MB or 1048576", text)
	}
	unit, ok := sizeUnits[strings.ToLower(m[2])]
	if !ok {
		return 0, fmt.Errorf("unknown unit %q: use B, kB, MB, GB, TB, KiB, MiB, GiB or TiB", m[2])
	}
	n, ok := new(big.Rat).SetString(m[1])
	if !ok {
		return 0, fmt.Errorf("%q is not a size such as 16MiB, 16MB or 1048576", text)
	}
	n.Mul(n, new(big.Rat).SetInt64(unit))
	bytes := new(big.Int).Quo(n.Num(), n.Denom())
	if !bytes.IsInt64() {
		return 0, fmt.Errorf("%s is more than can be counted", text)
	}
	return bytes.Int64(), nil
}

// parseRate reads 10MiB/s, in bytes a second; the /s may be missing.
func parseRate(text string) (int64, error) {
	n, err := parseSize(strings.TrimSuffix(text, "/s"))
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fmt.Errorf("a rate of %s is no rate: it must be above zero", text)
	}
	return n, nil
}

var (
	binaryUnits  = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	decimalUnits = []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
)

// formatSize gives a number of bytes three digits and a binary unit.
func formatSize(n int64) string { return scaled(float64(n), 1024, binaryUnits) }

// formatRate gives bytes a second three digits and a decimal unit, as links
// are sold.
func formatRate(perSecond float64) string { return scaled(perSecond, 1000, decimalUnits) + "/s" }

func scaled(v, base float64, units []string) string {
	unit := 0
	for v >= base && unit < len(units)-1 {
		v /= base
		unit++
	}
	digits := 3
	if v >= 999.5 {
		digits = 4
	}
	return strconv.FormatFloat(v, 'g', digits, 64) + " " + units[unit]
}
