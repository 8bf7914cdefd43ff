package child

import (
	"bufio"
	"bytes"
	"strconv"
	"time"
)

// vmHWM reads the greatest resident size from /proc/PID/status, in bytes; 0 if it
// is not there, as with a process that has ended. Unlike ru_maxrss of getrusage(2)
// it begins anew with exec, and has nothing of the parent's.
func vmHWM(status []byte) int64 {
	lines := bufio.NewScanner(bytes.NewReader(status))
	for lines.Scan() {
		value, ok := bytes.CutPrefix(lines.Bytes(), []byte("VmHWM:"))
		if !ok {
			continue
		}
		number, ok := bytes.CutSuffix(bytes.TrimSpace(value), []byte(" kB"))
		kb, err := strconv.ParseInt(string(number), 10, 64)
		if !ok || err != nil {
			return 0
		}
		return kb << 10
	}
	return 0
}

// cpuOf reads utime and stime, the 14th and the 15th field of /proc/PID/stat, of which
// the second is a name in brackets with anything in it.
func cpuOf(stat []byte) time.Duration {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, err := strconv.ParseInt(string(fields[11]), 10, 64)
	kernel, failed := strconv.ParseInt(string(fields[12]), 10, 64)
	if err != nil || failed != nil {
		return 0
	}
	return time.Duration(user+kernel) * (time.Second / ticks)
}

// ticks is USER_HZ, which is the same on everything that Go runs on.
const ticks = 100
