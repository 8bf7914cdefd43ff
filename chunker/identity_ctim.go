//go:build linux || openbsd || dragonfly || solaris

package chunker

import (
	"io/fs"
	"syscall"
	"time"
)

// systemIdentity adds change time, device and inode.
func systemIdentity(id *Identity, info fs.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.ChangeTime = plainTime(time.Unix(st.Ctim.Unix()))
		id.Device, id.Inode = uint64(st.Dev), st.Ino
	}
}
