package controller

import (
	"bufio"
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

func dumpText(t *testing.T, all map[string][]byte, name string) (string, error) {
	t.Helper()
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	err := dump(w, restore(t, all), filepath.Join("/meta", name))
	w.Flush()
	return b.String(), err
}

func TestDumpSaysWhatIsInEachFile(t *testing.T) {
	all := used(t, true)
	for name, b := range all {
		if !CanDump(name) {
			t.Errorf("%s cannot be dumped", name)
		}
		text, err := dumpText(t, all, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var want []string
		switch {
		case name == quorumStateName:
			want = []string{"node 1 cluster 6OrsXMpnRmWEyxB5y4yEVw", "stopped cleanly"}
		case strings.HasSuffix(name, segmentSuffix):
			want = []string{"entry 1 term 1 at 64: configuration", "ClusterRecord {ClusterID:6OrsXMpnRmWEyxB5y4yEVw}", "FeatureRecord {Name:metadata.version Level:33}",
				"a leader begins", "TopicRecord {Name:last"}
		default:
			want = []string{"cluster 6OrsXMpnRmWEyxB5y4yEVw", "Voter 1", "topic t0", "Replicas:[1]"}
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q is not in\n%s", name, w, text)
			}
		}
		bad := maps.Clone(all)
		bad[name] = bytes.Clone(b)
		bad[name][len(b)/2/slotDistance*slotDistance+100] ^= 1
		if _, err := dumpText(t, bad, name); !errors.Is(err, ErrDamaged) {
			t.Errorf("damaged %s: %v", name, err)
		}
	}
	if CanDump("00000000000000000000.log") {
		t.Error("a partition's log is not ours")
	}
}
