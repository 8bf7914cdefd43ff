// Package integration holds the tests that need real servers: MinIO behind a
// proxy that makes it fail on purpose, and the embedded gateway. Everything is
// on loopback. Its sub-packages are what the tests are built from.
package integration
