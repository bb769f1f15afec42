package vfs

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
)

// sector is the unit in which a disk writes or does not write.
const sector = 512

// KillClone is what a new process finds after SIGKILL: every write and every
// rename, no locks.
func (m *Mem) KillClone() *Mem {
	c := m.clone(func(d *memDir) map[string]*inode { return d.names }, func(n *inode) []byte { return n.data })
	c.boots = m.boots
	return c
}

// RebootClone is what a new process finds after a power cut that happened to take
// nothing.
func (m *Mem) RebootClone() *Mem {
	c := m.KillClone()
	c.boots++
	return c
}

// BootID changes with CrashClone and RebootClone.
func (m *Mem) BootID() string { return strconv.Itoa(m.boots) }

// CrashClone is what a new process finds after a power cut. Synced bytes and
// names are there. Of a name that was made, moved or removed since the last
// SyncDir of its directory, chance decides for each name; of bytes written
// since the last sync, either none, all, or any set of sectors made it.
func (m *Mem) CrashClone(rng *rand.Rand) *Mem {
	c := m.clone(
		func(d *memDir) map[string]*inode { return mixNames(d, rng) },
		func(n *inode) []byte { return mixBytes(n.synced, n.data, rng) },
	)
	c.boots = m.boots + 1
	return c
}

// clone copies what is reachable from the roots. Names and bytes are chosen
// by the two functions; a directory whose name was not kept is gone with all
// that is in it.
func (m *Mem) clone(names func(*memDir) map[string]*inode, data func(*inode) []byte) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.hold()()
	c := NewMem()
	copied := make(map[*inode]*inode)
	var walk func(path string)
	walk = func(path string) {
		kept := names(m.dirs[path])
		d := newMemDir()
		c.dirs[path] = d
		for _, base := range sortedNames(kept) {
			node := kept[base]
			if node == nil {
				// The directory may have been renamed since: only what is
				// still there under this name can be followed.
				if sub := filepath.Join(path, base); m.dirs[sub] != nil {
					d.names[base] = nil
					walk(sub)
				}
				continue
			}
			if copied[node] == nil {
				b := slices.Clone(data(node))
				copied[node] = &inode{data: b, synced: slices.Clone(b), mtime: node.mtime}
			}
			d.names[base] = copied[node]
		}
		d.synced = make(map[string]*inode, len(d.names))
		for k, v := range d.names {
			d.synced[k] = v
		}
	}
	walk(string(filepath.Separator))
	walk(".")
	return c
}

// hold keeps all files as they are until release is called, so that a copy has nothing of a
// later write without what was written before it. mu is held.
func (m *Mem) hold() (release func()) {
	held := make(map[*inode]bool)
	for _, d := range m.dirs {
		for _, names := range []map[string]*inode{d.names, d.synced} {
			for _, node := range names {
				if node != nil && !held[node] { // nil is a directory
					held[node] = true
					node.mu.RLock()
				}
			}
		}
	}
	return func() {
		for node := range held {
			node.mu.RUnlock()
		}
	}
}

func sortedNames(names map[string]*inode) []string {
	keys := make([]string, 0, len(names))
	for k := range names {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func mixNames(d *memDir, rng *rand.Rand) map[string]*inode {
	out := make(map[string]*inode)
	all := make(map[string]*inode)
	for k, v := range d.synced {
		all[k] = v
	}
	for k, v := range d.names {
		all[k] = v
	}
	for _, k := range sortedNames(all) {
		now, isNow := d.names[k]
		old, wasOld := d.synced[k]
		useNow := isNow == wasOld && now == old || rng.IntN(2) == 0
		switch {
		case useNow && isNow:
			out[k] = now
		case !useNow && wasOld:
			out[k] = old
		}
	}
	return out
}

func mixBytes(synced, data []byte, rng *rand.Rand) []byte {
	switch rng.IntN(4) {
	case 0:
		return synced
	case 1:
		return data
	case 2: // a prefix in sectors
		if len(data) > len(synced) {
			n := len(synced) + rng.IntN(len(data)-len(synced)+1)/sector*sector
			return append(slices.Clone(data[:len(synced)]), data[len(synced):n]...)
		}
		return data
	}
	size := len(synced)
	if len(data) > size {
		size += rng.IntN(len(data) - size + 1)
	} else if rng.IntN(2) == 0 {
		size = len(data)
	}
	out := make([]byte, size) // a sector that never made it reads as zeros
	copy(out, synced)
	for at := 0; at < size; at += sector {
		if rng.IntN(2) == 0 && at < len(data) {
			copy(out[at:min(at+sector, size)], data[at:])
		}
	}
	return out
}
