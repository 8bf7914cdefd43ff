package presign

import "time"

// Anticipator is a [Provider] whose requests cost a network call, and which makes
// them ahead of need.
//
// Anticipate says that Presign will be asked for the part soon. It returns at once.
// What is made ahead has to be good when it is asked for, so a provider whose
// requests live only for moments had better ignore it. It is safe for concurrent
// use.
type Anticipator interface {
	Anticipate(p Part)
}

// Timekeeper is a [Provider] that can go by another clock than this machine's.
//
// Learn tells it that a store has refused a request for its time, and what the
// store's clock showed just now. It is safe for concurrent use.
type Timekeeper interface {
	Learn(store time.Time)
}
