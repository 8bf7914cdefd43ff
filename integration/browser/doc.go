// Package browser runs for tests what is written in JavaScript: pages in a headless
// Chromium, and programs on Node with packages from npm.
//
// Chromium, Node and npm are the system's: `make test` installs Debian's if they are
// missing. A Node that is too old is replaced by one from npm. What npm brings is kept
// in a cache folder, $CHUNKUP_CACHE if set, else chunkup in os.UserCacheDir; which
// versions that are, the lock files in integration/testdata say.
package browser
