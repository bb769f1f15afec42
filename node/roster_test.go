package node

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/segment"
)

func TestRosterReadsWhatItWrote(t *testing.T) {
	dirs := []rosterDir{
		{model.NewTopicID(), "/var/lib/a"},
		{model.NewTopicID(), "relative dir/with \"quotes\"\nand=lines checksum=1"},
	}
	for n := range len(dirs) + 1 {
		got, err := decodeRoster("f", string(encodeRoster(dirs[:n])))
		if err != nil || !slices.Equal(got, dirs[:n]) {
			t.Errorf("%d directories: %v, %v", n, got, err)
		}
	}
	if got, err := readRoster(vfs.OS{}, t.TempDir()+"/none"); got != nil || err != nil {
		t.Errorf("no file: %v, %v", got, err)
	}
}

func TestRosterDump(t *testing.T) {
	path := t.TempDir() + "/" + rosterName
	id := model.NewTopicID()
	if err := vfs.WriteFile(vfs.OS{}, path, encodeRoster([]rosterDir{{id, "/data"}}), false); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := DumpFile(&out, path); err != nil || !CanDump(path) || out.String() != "log directory "+id.String()+" at /data\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestRosterNoticesEveryChangedByte(t *testing.T) {
	sound := encodeRoster([]rosterDir{{model.NewTopicID(), "data"}})
	for i := range sound {
		b := slices.Clone(sound)
		b[i] ^= 0x01
		if _, err := decodeRoster("f", string(b)); err == nil && strings.TrimSpace(string(b)) != strings.TrimSpace(string(sound)) {
			t.Errorf("byte %d changed, and nobody noticed: %q", i, b)
		}
		if i == len(sound)-1 {
			break // all but the last line end
		}
		if _, err := decodeRoster("f", string(sound[:i])); !errors.Is(err, segment.ErrCorrupt) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
}
