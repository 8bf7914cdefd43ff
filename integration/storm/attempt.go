package storm

import "time"

// outcome is how an attempt ended.
type outcome uint8

const (
	done       outcome = iota
	throttled          // 503, before the body
	reset              // the connection broke on the way
	stalled            // no byte was accepted for too long
	unanswered         // the whole body went, and no answer came
	slow               // its deadline came while bytes moved
)

// roundTrip is how long it takes to be let in or turned away.
const roundTrip = 20 * time.Millisecond

// attempt is one PUT of a part. Its fields are what clients differ in.
type attempt struct {
	w     *world
	pipe  *pipe                // nil unless the scene has an uplink
	moved func(bytes int)      // told as bytes go; nil = nobody
	send  func() time.Duration // the deadline on a pipe, asked again when it runs out; nil = none
}

// run makes the attempt. The caller waits for as long as it takes.
func (a *attempt) run() outcome {
	a.w.record.attempted(a.w.now())
	if a.pipe != nil {
		return a.overPipe()
	}
	return a.overPath()
}

// overPath sends over a path that nobody shares.
func (a *attempt) overPath() outcome {
	s := a.w.scene
	time.Sleep(roundTrip)
	if !a.w.store.admit(a.w.now()) {
		return throttled
	}
	travel := s.Transmit
	broken := a.w.scene.failing(a.w.now()) && s.Resets > 0 && a.w.dice.float() < s.Resets
	if broken {
		travel = time.Duration(a.w.dice.float() * float64(travel))
	}
	if !a.travel(travel) {
		time.Sleep(s.Bound)
		a.w.store.drop()
		return stalled
	}
	if broken {
		a.w.store.drop()
		return reset
	}
	return a.await()
}

// pieces is in how many pieces a body is seen to go.
const pieces = 4

// travel moves the body, or the beginning of it, until a blackout stops it.
func (a *attempt) travel(d time.Duration) (through bool) {
	s := a.w.scene
	for range pieces {
		if s.Blackout && s.failing(a.w.now()) {
			return false
		}
		time.Sleep(d / pieces)
		if a.moved != nil {
			a.moved(int(float64(s.Part) * d.Seconds() / s.Transmit.Seconds() / pieces))
		}
	}
	return true
}

// await waits for the answer to a body that has arrived.
func (a *attempt) await() outcome {
	s, now := a.w.scene, a.w.now()
	answer := a.w.store.take(now)
	lost := s.Blackout && s.failing(answer)
	if late := now + s.Bound; lost || answer > late {
		time.Sleep(s.Bound)
		return unanswered
	}
	time.Sleep(answer - now)
	return done
}
