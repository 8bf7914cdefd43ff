package sink

import "time"

// Options say where the sink listens and how it behaves. The zero value listens
// on a free port of 127.0.0.1, in the clear, as fast as it can, without faults.
type Options struct {
	Listen string // host:port; "" is a free port of 127.0.0.1
	TLS    bool   // with a certificate made for the run, see Server.CA
	CADir  string // where the CA's certificate is written; "" is the system's folder for temporary files

	ConnRate  int64 // bytes a second that are read from each connection; 0: no limit
	TotalRate int64 // bytes a second that are read from all of them; 0: no limit

	AnswerDelay time.Duration // every answer is late by that
	ConnUses    int           // a connection is closed after so many requests; 0: never

	Refuse float64 // the share of parts and objects that is read and then refused with 503 SlowDown
	Seed   uint64  // of the choice

	// Freeze makes one connection in so many stop being read in the middle of a
	// body, never to be answered nor closed; 0: none. The third is the first.
	Freeze int

	Outage Outage
}

// Outage is a time without service.
type Outage struct {
	After  int64         // begins when so many bytes of bodies were read; 0: never
	For    time.Duration // its length
	Silent bool          // connections stay, and hear nothing; else they are cut and new ones are refused
}
