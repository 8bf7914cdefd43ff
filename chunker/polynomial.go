package chunker

// polynomial is the generator P of a CRC: arithmetic modulo P over the field of
// two elements.
//
// A CRC is a remainder: crc(m) = m·x^bits mod P, written reflected, which means
// that the most significant bit is the coefficient of x^0. For a message a
// followed by n bytes of b this makes
//
//	crc(ab) = crc(a)·x^8n + crc(b)  mod P
//
// and addition is exclusive or. The complements that these three CRCs take at
// the start and at the end cancel each other out. x^8n takes log2(8n) squarings.
type polynomial struct {
	reflected uint64 // P without its x^bits
	bits      int    // degree of P; 0: no CRC
}

// one returns x^0.
func (p polynomial) one() uint64 { return 1 << (p.bits - 1) }

// mul returns a·b mod P.
func (p polynomial) mul(a, b uint64) uint64 {
	var product uint64
	for coefficient := p.one(); coefficient != 0; coefficient >>= 1 {
		if a&coefficient != 0 {
			product ^= b
		}
		// b·x: one place to the right, and x^bits mod P in place of x^bits.
		carry := b & 1
		b = b>>1 ^ p.reflected&-carry
	}
	return product
}

// shift returns x^8n mod P, which moves a CRC over n bytes; n is not negative.
func (p polynomial) shift(n int64) uint64 {
	power := p.one()
	for square := p.one() >> 8; n > 0; n >>= 1 {
		if n&1 != 0 {
			power = p.mul(power, square)
		}
		square = p.mul(square, square)
	}
	return power
}
