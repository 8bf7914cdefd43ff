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
// window of 8 lanes lasts three and a half minutes. A part that was answered with
// success is worth 256 KiB besides its bytes, in every sum: of small files the
// answers are what an endpoint is waited for. A window counts if it was busy,
// that is if nearly all lanes were taken all the time and somebody waited; else
// more lanes would not have been used.
//
// The climb is that of AzCopy's concurrencyTuner (Azure/azure-storage-azcopy,
// ste/concurrencyTuner.go). After a busy window the limit doubles for a trial:
// one window to settle, one to judge. If the goodput has risen by at least 20 %
// of what it would have by as many lanes working as well as before, which is
// 20 % for twice the lanes, the new limit stays and the next trial follows at
// once. Else the limit goes back, and the next trial waits 30 seconds and takes
// half as large a step; the wait doubles, up to 4 minutes, until a trial
// succeeds, and is over as soon as the same lanes carry half as much again as
// before. AzCopy ends its search there, but a process may outlive the conditions
// it found.
//
// Until a trial has failed or the limit fallen there is haste, for most files are short: windows of a
// fifth of a second, still of 1 MiB per lane, are enough to begin a trial, and to
// keep what it has reached if the goodput has risen by half of the linear gain.
// From 8 lanes, 64 are reached in 1.2 seconds. Where the parts are small, a window
// is over when as many answers have come as there are lanes: one of a twentieth of
// a second or more counts, and any settles. From 8 lanes, 256 are so reached in
// ten times what an answer takes. That a trial has failed only a
// whole window says, for new connections take their time to get going. There is
// no haste where each lane carries 50 MB/s: what limits those is no connection.
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
// successes as there are lanes, without a fall. The first round adds one
// lane, the next two, then three: at first as careful as AIMD, yet from 1 to 64
// in 11 rounds. Beyond that level, only a trial leads.
//
// A level that fails as a whole is a wall. When most of the parts in flight ran
// into the overload, as they do on a link that has become too slow for so many,
// the way back ends below. One overload among many successes is none.
//
// # How it falls when the store refuses
//
// [Throttled] is chance or too much, and its share tells which. Every lane that is
// taken weighs 1 for the limit, up to one for each lane there is, and every
// throttle 12 against it: what comes once in thirteen times or less often, like
// the 503 of a store that has its bad moments, costs no lane. When the throttles
// outweigh the lanes by 36 (by three for each lane, if there are less than twelve)
// the limit is halved and an epoch begins. Of 64 lanes, that takes nine throttles
// in a row; of 16, five; of 8, three; of less than four, one.
//
// The way back then leads to an eighth below the level, or below what the limit
// has got to on its way when it falls again: it comes to rest close below what
// the store allows. The next trial is a step of half, after four rounds at that
// level. One that is throttled goes back to the level, and the next comes after
// twice as many rounds, at most 64: whoever has been refused for long asks less
// and less often, and at any speed a trial costs a few parts in a hundred.
//
// When the endpoint stops answering altogether, [Gate.SlowStart] leaves one
// lane, and every success doubles it up to half of what it was. Then the rounds
// take over.
package lanes
