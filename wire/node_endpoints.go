package wire

import "encoding/binary"

// appendNodes appends the tagged fields at the end of a Produce or Fetch
// response: the endpoints of leaders that it names, if any, in tag 0.
func appendNodes(dst []byte, nodes []NodeEndpoint) []byte {
	if len(nodes) == 0 {
		return append(dst, 0)
	}
	dst = append(dst, 1, 0)
	size := uvarintLen(uint64(len(nodes)) + 1)
	for i := range nodes {
		n := &nodes[i]
		size += 4 + compactLen(len(n.Host)) + 4 + 1 // id, host, port, tags
		if n.Rack == "" {
			size++
		} else {
			size += compactLen(len(n.Rack))
		}
	}
	dst = binary.AppendUvarint(dst, uint64(size))
	dst = appendCount(dst, len(nodes), true)
	for i := range nodes {
		n := &nodes[i]
		dst = appendInt32(dst, n.NodeID)
		dst = appendString(dst, n.Host, true)
		dst = appendInt32(dst, n.Port)
		dst = appendNullable(dst, n.Rack, true)
		dst = append(dst, 0)
	}
	return dst
}

// compactLen is the size of a compact string of n bytes.
func compactLen(n int) int { return uvarintLen(uint64(n)+1) + n }

func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}
