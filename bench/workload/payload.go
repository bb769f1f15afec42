package workload

import "math/rand/v2"

// payloadRun is the length within which a value repeats its pattern of random
// bytes followed by equal ones. A compressor pays a few bytes for each run, so it
// is not too short; and values of usual sizes have several, so it is not long.
const payloadRun = 256

// payloadBlock is how many random bytes are kept to cut values from. Values must
// not repeat within what a compressor looks back on: lz4 and snappy see 64 KiB;
// zstd and gzip see no more than a batch holds.
const payloadBlock = 4 << 20

// Payload makes the bytes of record values: of each run, the share that is
// Compressibility is equal bytes and the rest is random. A compressor leaves
// about the random part. For one goroutine.
type Payload struct {
	block  []byte
	random int // bytes of a run that are
	at     int
}

// NewPayload returns the payload of a load; seed tells the workers apart.
func (s Spec) NewPayload(seed uint64) *Payload {
	p := &Payload{random: int(float64(payloadRun)*(1-s.Compressibility) + 0.5)}
	p.block = make([]byte, payloadBlock)
	var key [32]byte
	for i := range 8 {
		key[i], key[8+i] = byte(uint64(s.Seed)>>(8*i)), byte(seed>>(8*i))
	}
	_, _ = rand.NewChaCha8(key).Read(p.block) // never fails
	return p
}

// Fill makes value a new one.
func (p *Payload) Fill(value []byte) {
	for start := 0; start < len(value); start += payloadRun {
		run := value[start:min(start+payloadRun, len(value))]
		// A short value has its share of random bytes too.
		n := p.random
		if len(run) < payloadRun {
			n = len(run) * p.random / payloadRun
		}
		p.take(run[:n])
		for i := n; i < len(run); i++ {
			run[i] = 'r'
		}
	}
}

func (p *Payload) take(dst []byte) {
	for len(dst) > 0 {
		n := copy(dst, p.block[p.at:])
		dst = dst[n:]
		if p.at += n; p.at == len(p.block) {
			p.at = 0
		}
	}
}
