package storm

import "time"

// Scene is one experiment: who uploads, through what, to what, and what fails
// between Before and Before+During.
type Scene struct {
	Name string // of the fault

	Clients int // processes
	Slots   int // parts in flight of a process, at most
	Parts   int // of an upload; a process has two uploads under way
	Part    int // bytes of a part

	Rate     float64       // parts a second that the store gets done
	Transmit time.Duration // of a part, on a path that is not shared
	Bound    time.Duration // of an attempt: without a byte accepted, or without an answer after the last

	Before, During, After time.Duration
	Step                  time.Duration // of the record
	Window                time.Duration // in which goodput is judged

	// The fault.
	Blackout bool    // the path loses everything
	Capacity float64 // what is left of Rate; 0 = all
	Sheds    bool    // the store answers 503 at once to what is over its capacity, before, during and after the fault
	Resets   float64 // the probability that an attempt is reset on its way
	Uplink   *Uplink // each process sends over a thin pipe of its own; nil = a path that is not shared
}

// Uplink is the pipe that all parts of one process share, in bytes a second.
type Uplink struct {
	Wide, Thin float64       // usually, and in the fault
	Fixed      time.Duration // the deadline of clients that have one deadline for all
}

// Scenes are the five faults, for a number of processes and for two minutes after
// the fault. The store is at its limit before anything fails: a part waits for
// nearly as long as its client is patient when all slots are in use. Such a store
// works, and cannot get over a fault by itself.
func Scenes(clients int) []Scene {
	base := Scene{
		Clients: clients, Slots: 16, Parts: 200, Part: 8 << 20,
		Rate: 3.2 * float64(clients), Transmit: time.Second, Bound: 5 * time.Second,
		Before: time.Minute, During: time.Minute, After: 2 * time.Minute,
		Step: time.Second, Window: 5 * time.Second,
	}
	blackout, brownout, reject, flaky, uplink := base, base, base, base, base

	blackout.Name, blackout.Blackout = "blackout", true
	brownout.Name, brownout.Capacity = "brownout to 30 %", 0.3
	reject.Name, reject.Capacity, reject.Sheds = "fast reject at 30 %", 0.3, true
	flaky.Name, flaky.Resets = "flaky path, p = 0.5", 0.5

	uplink.Name = "slow shared uplink"
	uplink.Uplink = &Uplink{Wide: 5e6, Thin: 50e3, Fixed: 2 * time.Minute}
	uplink.Clients = clients / 3 // they do not share it
	uplink.Part = 2e6
	uplink.Before, uplink.During, uplink.After = 6*time.Minute, 2*time.Hour, 10*time.Minute
	uplink.Step, uplink.Window = 20*time.Second, 40*time.Second
	return []Scene{blackout, brownout, reject, flaky, uplink}
}

// begins and ends are of the fault.
func (s Scene) begins() time.Duration { return s.Before }
func (s Scene) ends() time.Duration   { return s.Before + s.During }
func (s Scene) over() time.Duration   { return s.Before + s.During + s.After }

// failing tells whether the fault is on at time t.
func (s Scene) failing(t time.Duration) bool { return t >= s.begins() && t < s.ends() }

// Possible is how many parts path and store could do in the fault if whatever
// fails were sent again at once, for ever.
func (s Scene) Possible() float64 {
	seconds := s.During.Seconds()
	switch {
	case s.Blackout:
		return 0
	case s.Uplink != nil:
		return s.Uplink.Thin * seconds / float64(s.Part) * float64(s.Clients)
	case s.Capacity > 0:
		return s.Rate * s.Capacity * seconds
	}
	// An attempt that is reset has been on its way for half of the time.
	perPart := s.Transmit.Seconds() * (1 + s.Resets/(1-s.Resets)/2)
	return min(s.Rate, float64(s.Clients*s.Slots)/perPart) * seconds
}
