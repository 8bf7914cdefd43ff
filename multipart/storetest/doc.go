// Package storetest has what tests of uploads need: an in-memory store that
// works in fake time and fails on command.
//
// [Mem] is control plane, provider and, over an in-memory listener, the HTTP
// side that parts go to, so that the real transport is tested inside a
// testing/synctest bubble. [Fault] scripts what goes wrong. It is for tests
// only.
package storetest
