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

	seen   time.Time     // observed until here
	taken  time.Duration // lanes × time
	waited bool          // somebody had to wait for a lane
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

// rate is the goodput, in bytes per second.
func (w *window) rate(moved int64) float64 {
	return float64(moved-w.from) / w.seen.Sub(w.start).Seconds()
}
