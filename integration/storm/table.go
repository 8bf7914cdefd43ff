package storm

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Result is what a policy made of a scene: the medians over some runs, and the
// mean of their records for the figure.
type Result struct {
	Scene   Scene
	Policy  string
	Figures Figures
	Mean    *Trace
}

// Table writes the results as Markdown, a table for each scene.
func Table(results []Result) string {
	var b strings.Builder
	last := ""
	for _, r := range results {
		if r.Scene.Name != last {
			last = r.Scene.Name
			fmt.Fprintf(&b, "\n**%s**, %s\n\n", last, r.Scene.describe())
			b.WriteString("| policy | before | attempts | amplification | parts done | of the possible | back to 90 % | goodput after | aborted | wasted |\n")
			b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
		}
		b.WriteString(row(r))
	}
	return b.String()
}

// describe says what fails, and for how long.
func (s Scene) describe() string {
	during := minutes(s.During)
	switch {
	case s.Blackout:
		return "nothing that is sent in " + during + " arrives"
	case s.Uplink != nil:
		return fmt.Sprintf("the pipe of each process falls from %.0f to %.0f kB/s for %s; parts of %d MB",
			s.Uplink.Wide/1e3, s.Uplink.Thin/1e3, during, s.Part/1e6)
	case s.Sheds:
		return fmt.Sprintf("the store answers 503 at once to what it cannot take; for %s it can take %.0f %%", during, 100*s.Capacity)
	case s.Capacity > 0:
		return fmt.Sprintf("for %s the store gets %.0f %% done, and queues the rest", during, 100*s.Capacity)
	}
	return fmt.Sprintf("for %s every attempt is reset on its way with a probability of %.1f", during, s.Resets)
}

// row writes a line of a table.
func row(r Result) string {
	f, name := r.Figures, r.Policy
	if name == Chunkup().Name {
		name = "**" + name + "**"
	}
	amplification, share := ratio("%.2f×", f.Amplification), ratio("%.0f %%", 100*f.Share)
	if r.Scene.Blackout {
		amplification, share = "–", "–" // nothing can be done
	}
	recovery := fmt.Sprintf("%.0f s", f.Recovery)
	if math.IsInf(f.Recovery, 1) {
		recovery = "not in " + minutes(r.Scene.After)
	}
	return fmt.Sprintf("| %s | %.0f/s | %s | %s | %s | %s | %s | %.0f %% | %s | %s |\n", name, f.Before,
		thousands(f.Attempts), amplification, thousands(f.Done), share, recovery, 100*f.After, thousands(f.Aborted), thousands(f.Wasted))
}

// ratio writes a quotient, also of what is not there.
func ratio(format string, v float64) string {
	switch {
	case math.IsInf(v, 0):
		return "∞"
	case math.IsNaN(v):
		return "–"
	}
	return fmt.Sprintf(format, v)
}

// thousands writes a whole number with gaps for the eye.
func thousands(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// minutes writes a duration, in minutes if there are several and no rest.
func minutes(d time.Duration) string {
	if d%time.Minute == 0 && d != time.Minute {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
