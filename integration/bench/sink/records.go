package sink

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net"
)

// The TLS that this package reads itself: what is thrown away need not be decrypted.
// In TLS 1.3 each record stands alone, its nonce is its number, so that whoever knows
// the client's key can leave records out. Handshake, session tickets and all that is
// sent are crypto/tls's, as is reading under any other version or cipher.
// https://www.rfc-editor.org/rfc/rfc8446#section-5

const (
	recordHead    = 5
	recordTail    = 17 // the type of the content, and the tag
	typeAlert     = 21
	typeData      = 23
	shortRecord   = 64      // an alert may be so short: it is read
	mostOfRecord  = 1 << 16 // its length has two bytes
	recordsBuffer = 4 * mostOfRecord
)

// framed never hands out bytes of two records at once, so that crypto/tls reads none
// that is not its own.
type framed struct {
	net.Conn
	head   [recordHead]byte
	unread int // at the end of head
	left   int // of the record's content
}

func (f *framed) Read(p []byte) (int, error) {
	if f.unread == 0 && f.left == 0 {
		if _, err := io.ReadFull(f.Conn, f.head[:]); err != nil {
			return 0, err
		}
		f.unread, f.left = recordHead, int(binary.BigEndian.Uint16(f.head[3:]))
	}
	if f.unread > 0 {
		n := copy(p, f.head[recordHead-f.unread:])
		f.unread -= n
		return n, nil
	}
	n, err := f.Conn.Read(p[:min(len(p), f.left)])
	f.left -= n
	return n, err
}

// records reads what a client sends after the handshake.
type records struct {
	conn  net.Conn
	aead  cipher.AEAD
	iv    []byte
	seq   uint64
	buf   []byte
	begin int // buf[begin:end] is read, but not used
	end   int
	plain []byte // decrypted, but not used
}

// shake does the handshake. The records are nil where crypto/tls has to read them.
func shake(tcp net.Conn, c *tls.Config) (*tls.Conn, *records, error) {
	var keys bytes.Buffer
	c = c.Clone()
	c.KeyLogWriter = &keys
	conn := tls.Server(&framed{Conn: tcp}, c)
	if err := conn.Handshake(); err != nil {
		return nil, nil, err
	}
	r := &records{conn: tcp, buf: make([]byte, recordsBuffer)}
	ok, err := r.setKey(conn.ConnectionState(), keys.Bytes())
	if err != nil || !ok {
		return conn, nil, err
	}
	return conn, r, nil
}

// setKey derives the key from the secret in the key log; false if that cannot be.
// https://www.rfc-editor.org/rfc/rfc8446#section-7.3
func (r *records) setKey(state tls.ConnectionState, log []byte) (bool, error) {
	var sum func() hash.Hash
	var size int
	switch state.CipherSuite {
	case tls.TLS_AES_128_GCM_SHA256:
		sum, size = sha256.New, 16
	case tls.TLS_AES_256_GCM_SHA384:
		sum, size = sha512.New384, 32
	default:
		return false, nil
	}
	var secret []byte
	for line := range bytes.Lines(log) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == "CLIENT_TRAFFIC_SECRET_0" {
			secret, _ = hex.AppendDecode(nil, fields[2]) // crypto/tls has written it
		}
	}
	if secret == nil {
		return false, nil
	}
	key, err := hkdf.Expand(sum, secret, label("key", size), size)
	if err != nil {
		return false, err
	}
	if r.iv, err = hkdf.Expand(sum, secret, label("iv", 12), 12); err != nil {
		return false, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return false, err
	}
	r.aead, err = cipher.NewGCM(block)
	return err == nil, err
}

// label is the HkdfLabel, without a context.
func label(name string, size int) string {
	name = "tls13 " + name
	return string([]byte{0, byte(size), byte(len(name))}) + name + "\x00"
}

// Read decrypts.
func (r *records) Read(p []byte) (int, error) {
	for len(r.plain) == 0 {
		if err := r.open(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.plain)
	r.plain = r.plain[n:]
	return n, nil
}

// drop throws up to n bytes away, but at least one, and only decrypts what may be
// something else or has more in it.
func (r *records) drop(n int) (int, error) {
	if len(r.plain) == 0 {
		size, kind, err := r.peek()
		if err != nil {
			return 0, err
		}
		if content := size - recordTail; kind == typeData && content <= n && size > shortRecord {
			r.seq++
			return content, r.skip(recordHead + size)
		}
		for len(r.plain) == 0 {
			if err := r.open(); err != nil {
				return 0, err
			}
		}
	}
	n = min(n, len(r.plain))
	r.plain = r.plain[n:]
	return n, nil
}

// peek looks at the head of the next record.
func (r *records) peek() (size int, kind byte, err error) {
	if err := r.fill(recordHead); err != nil {
		return 0, 0, err
	}
	head := r.buf[r.begin:]
	return int(binary.BigEndian.Uint16(head[3:])), head[0], nil
}

// open decrypts the next record.
func (r *records) open() error {
	size, kind, err := r.peek()
	if err != nil {
		return err
	}
	if err := r.fill(recordHead + size); err != nil {
		return err
	}
	record := r.buf[r.begin : r.begin+recordHead+size]
	r.begin += len(record)
	if kind != typeData {
		return errors.New("a record that is not encrypted")
	}
	nonce := bytes.Clone(r.iv)
	binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])^r.seq)
	r.seq++
	content := record[recordHead:]
	if content, err = r.aead.Open(content[:0], nonce, content, record[:recordHead]); err != nil {
		return err
	}
	content = bytes.TrimRight(content, "\x00") // the padding
	switch {
	case len(content) == 0:
		return errors.New("a record without a type")
	case content[len(content)-1] == typeAlert:
		return io.EOF
	case content[len(content)-1] != typeData:
		return errors.New("a handshake in the middle")
	}
	r.plain = content[:len(content)-1]
	return nil
}

// fill reads until n bytes are there.
func (r *records) fill(n int) error {
	if len(r.buf)-r.begin < n {
		r.begin, r.end = 0, copy(r.buf, r.buf[r.begin:r.end])
	}
	for r.end-r.begin < n {
		if r.begin == r.end {
			r.begin, r.end = 0, 0
		}
		got, err := r.conn.Read(r.buf[r.end:])
		r.end += got
		if got == 0 && err != nil {
			return err
		}
	}
	return nil
}

// skip uses n bytes.
func (r *records) skip(n int) error {
	for n > r.end-r.begin {
		n -= r.end - r.begin
		r.begin, r.end = 0, 0
		if err := r.fill(1); err != nil {
			return err
		}
	}
	r.begin += n
	return nil
}
