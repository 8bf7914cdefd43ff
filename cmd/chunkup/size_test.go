package main

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1048576": 1 << 20, "7B": 7, "16MiB": 16 << 20, "16MB": 16e6, "16M": 16e6, "16Mi": 16 << 20,
		"1GiB": 1 << 30, "1.5GiB": 3 << 29, "1.5 GiB": 3 << 29, "200kB": 200e3, "1KB": 1000, "1KiB": 1024,
		"2tib": 2 << 40, "1PB": 1e15, "0.0001KiB": 0, "1.9B": 1,
		"9223372036854775807": math.MaxInt64, "8191PiB": 8191 << 50,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", " ", "-1", "+1", "1e6", "1_000", "0x10", "1/2", "1.", ".5", "1.5.5", "MiB", "5 MiB ", " 5MiB", "5MiBs", "5XB", "5iB", "5e",
		"9223372036854775808", "8192PiB", "99999999999999999999PiB", strings.Repeat("9", 1000), "١MiB", "NaN", "Inf",
	} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("parseSize(%q) = %d, want an error", text, got)
		}
	}
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]int64{"10MiB/s": 10 << 20, "200kB/s": 200e3, "200kB": 200e3, "5": 5} {
		if got, err := parseRate(text); err != nil || got != want {
			t.Errorf("parseRate(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "0MiB/s", "/s", "10MiB/m", "10MiB/s/s", "-1/s", "0.5B/s"} {
		if got, err := parseRate(text); err == nil {
			t.Errorf("parseRate(%q) = %d, want an error", text, got)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1000: "1000 B", 1023: "1023 B", 1024: "1 KiB", 16 << 20: "16 MiB", 1 << 30: "1 GiB",
		3 << 29: "1.5 GiB", 40000000: "38.1 MiB", 1023 << 20: "1023 MiB", math.MaxInt64: "8 EiB",
	} {
		if got := formatSize(n); got != want {
			t.Errorf("formatSize(%d) = %q, want %q", n, got, want)
		}
	}
	for rate, want := range map[float64]string{0: "0 B/s", 335e6: "335 MB/s", 1234: "1.23 kB/s", 999.6: "999.6 B/s", 999.96e3: "1000 kB/s"} {
		if got := formatRate(rate); got != want {
			t.Errorf("formatRate(%v) = %q, want %q", rate, got, want)
		}
	}
}

// What is shown of a size is that size, to three digits.
func TestFormatSizeIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<55).Draw(t, "n")
		back, err := parseSize(formatSize(n))
		if err != nil {
			t.Fatal(err)
		}
		if diff := math.Abs(float64(back - n)); diff > float64(n)/180 {
			t.Fatalf("%d is shown as %s", n, formatSize(n))
		}
	})
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"16MiB", "1.5GB", "0", "99999999999999999999", "1.99999999999999999999EiB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseSize(text)
		if err != nil {
			return
		}
		if n < 0 {
			t.Fatalf("parseSize(%q) = %d", text, n)
		}
		if again, err := parseSize(strconv.FormatInt(n, 10)); err != nil || again != n {
			t.Fatalf("parseSize(%q) = %d, which reads as %d, %v", text, n, again, err)
		}
	})
}
