// Package child runs a program and measures what it takes: time, processor and
// memory. The program runs in a process group of its own, which is killed when
// its time is up, and which does not outlive this process where the system can
// see to that.
package child
