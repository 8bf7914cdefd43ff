// Package lanes bounds how many parts of a process are on their way to one
// endpoint at once, and finds out by itself how many that should be.
//
// A [Gate] is a semaphore. [Gate.Acquire] takes a [Lane], [Lane.Release] gives
// it back and says how the part fared, [Gate.Moved] counts bytes while they are
// sent. Retries are let in before first attempts, for a part that has failed
// once is worth more than one that has not begun. The gate starts no goroutine
// and no timer: it looks at the clock when it is called.
//
// # How the limit moves
//
// It climbs on goodput and falls on overload. Latency, which such controllers
// often follow, says nothing here: the time of an upload is that of its bytes.
//
// Goodput is measured in windows of a second or more, in which at least 1 MiB
// per lane has moved. A socket takes in its buffer's worth at once, whatever the
// link does with it afterwards, so that less would be noise: at 40 kB/s, a
// window of 8 lanes lasts three and a half minutes. A window counts if it was
// busy, that is if nearly all lanes were taken all the time and somebody waited;
// else more lanes would not have been used.
//
// The climb is that of AzCopy's concurrencyTuner (Azure/azure-storage-azcopy,
// ste/concurrencyTuner.go). After a busy window the limit doubles for a trial:
// one window to settle, one to judge. If the goodput has risen by at least 20 %
// of what it would have by as many lanes working as well as before, which is
// 20 % for twice the lanes, the new limit stays and the next trial follows at
// once: from 8 lanes, 64 are reached in 6 seconds. Else the limit goes back, and
// the next trial waits 30 seconds and takes half as large a step; the wait
// doubles, up to 4 minutes, until a trial succeeds, and is over as soon as the
// same lanes carry half as much again as before. AzCopy ends its search there,
// but a process may outlive the conditions it found.
//
// # How it falls
//
// [Overload] halves the limit, rounded down, and begins an epoch. It does so
// only if its lane was taken in the present epoch: sixteen parts that miss their
// deadline together are one event, not 2⁻¹⁶. [Ignored] never moves the limit: a
// connection that breaks says nothing about how many there should be, and
// shrinking for it costs goodput for nothing.
//
// The way back to the level from which it fell is counted in rounds: as many
// successes as there are lanes, without an overload. The first round adds one
// lane, the next two, then three: at first as careful as AIMD, yet from 1 to 64
// in 11 rounds. Beyond that level, only a trial leads.
//
// A level that fails as a whole is a wall. When most of the parts in flight ran
// into the overload, as they do on a link that has become too slow for so many,
// the way back ends below. One throttle among many successes is none.
//
// When the endpoint stops answering altogether, [Gate.SlowStart] leaves one
// lane, and every success doubles it up to half of what it was. Then the rounds
// take over.
package lanes
