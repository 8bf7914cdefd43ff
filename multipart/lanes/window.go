package lanes

import "time"

const (
	// A window holds at least a second and a mebibyte for every lane, which
	// outweighs what a socket's buffer takes in of a part at once.
	windowTime  = time.Second
	windowBytes = 1 << 20

	// busyShare is how much of the lanes, averaged over the window, must have
	// been taken for it to be busy. Between two parts a lane is free for a
	// moment.
	busyShare = 0.9
)

// window is what is observed between two decisions.
type window struct {
	start     time.Time
	from      int64 // bytes ever moved, at the start
	settling  bool  // the limit has just been changed: wait, do not judge
	successes int   // of lanes taken in this epoch
	arrived   int   // parts, whenever their lane was taken
	refused   int   // by the store, likewise

	seen   time.Time     // observed until here
	taken  time.Duration // lanes × time
	waited bool          // somebody had to wait for a lane
}

func newWindow(now time.Time, moved int64) window {
	return window{start: now, seen: now, from: moved}
}

// observe accounts for the time since the last call, in which held lanes were
// taken, and somebody was waiting or nobody.
func (w *window) observe(now time.Time, held int, waiting bool) {
	w.taken += time.Duration(held) * now.Sub(w.seen)
	w.seen = now
	w.waited = w.waited || waiting
}

// busy says whether more lanes than limit would have been used.
func (w *window) busy(limit int) bool {
	all := time.Duration(limit) * w.seen.Sub(w.start)
	return w.waited && float64(w.taken) >= busyShare*float64(all)
}

// ended counts how the use of a lane ended.
func (w *window) ended(o Outcome) {
	switch o {
	case Success:
		w.arrived++
	case Throttled:
		w.refused++
	}
}

// rate is the goodput, in bytes per second. A store may read a whole part before
// it refuses it.
func (w *window) rate(moved int64) float64 {
	rate := float64(moved-w.from) / w.seen.Sub(w.start).Seconds()
	if w.refused > 0 {
		rate *= float64(w.arrived) / float64(w.arrived+w.refused)
	}
	return rate
}
