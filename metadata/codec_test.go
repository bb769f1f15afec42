package metadata

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write missing fixtures; existing ones are never rewritten")

func TestEveryRecordRoundTrips(t *testing.T) {
	var all []Record
	for name, r := range samples() {
		all = append(all, r)
		got, err := Decode(Encode([]Record{r}))
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], r) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, r)
		}
	}
	got, err := Decode(Encode(all))
	if err != nil || !reflect.DeepEqual(got, all) {
		t.Errorf("all together: got %+v, %v", got, err)
	}
	if got, err := Decode(Encode(nil)); err != nil || len(got) != 0 {
		t.Errorf("no records: got %v, %v", got, err)
	}
}

// Each file in testdata/records-1 is an encoding that a released or unreleased
// commit wrote. It must decode for ever; today's encoder must still write it as
// long as the version is 1.
func TestFixturesOfRecordsStayReadable(t *testing.T) {
	for name, want := range samples() {
		path := filepath.Join("testdata", "records-1", name+".hex")
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) && *update {
			text = []byte(hex.EncodeToString(Encode([]Record{want})) + "\n")
			err = os.WriteFile(path, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(b)
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s: got %+v, %v; want %+v", path, got, err, want)
		}
		if !bytes.Equal(Encode([]Record{want}), b) {
			t.Errorf("%s: the encoding changed without a new version", path)
		}
	}
}

func TestNewerRecordsAreRefused(t *testing.T) {
	for name, b := range map[string][]byte{
		"format":  {2, 1, 1, 1, 0},
		"type":    {1, 1, 11, 1, 0},
		"version": {1, 1, 1, 2, 0},
		"after a known record": append(binary.AppendUvarint([]byte{1, 2, 7, 1, 1, 2}, 200),
			1, 0),
	} {
		got, err := Decode(b)
		if !errors.Is(err, ErrNewer) || got != nil {
			t.Errorf("%s: got %v, %v; want ErrNewer and nothing", name, got, err)
		}
	}
}

func TestDamagedRecordsAreRefused(t *testing.T) {
	for name, r := range samples() {
		b := Encode([]Record{r})
		for n := range b {
			if got, err := Decode(b[:n]); !errors.Is(err, ErrCorrupt) || got != nil {
				t.Errorf("%s cut to %d of %d bytes: got %v, %v; want ErrCorrupt", name, n, len(b), got, err)
			}
		}
		if got, err := Decode(append(b, 0)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s with a byte more: got %v, %v; want ErrCorrupt", name, got, err)
		}
	}
	for name, b := range map[string][]byte{
		"format 0":           {0, 0},
		"type 0":             {1, 1, 0, 1, 0},
		"version 0":          {1, 1, 1, 0, 0},
		"count without end":  {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"huge count":         {1, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 1, 0},
		"body left over":     {1, 1, 7, 1, 2, 2, 2},
		"broker out of int":  {1, 1, 7, 1, 5, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"huge list":          append(append([]byte{1, 1, 5, 1, 22}, make([]byte, 17)...), 0xff, 0xff, 0xff, 0xff, 0x0f),
		"bool that is not 1": append(append([]byte{1, 1, 6, 1, 22}, make([]byte, 17)...), 2, 0, 0, 0, 0),
	} {
		if got, err := Decode(b); !errors.Is(err, ErrCorrupt) || got != nil {
			t.Errorf("%s: got %v, %v; want ErrCorrupt", name, got, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, r := range samples() {
		f.Add(Encode([]Record{r, r}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		again, err := Decode(Encode(records))
		if err != nil || !reflect.DeepEqual(again, records) {
			t.Fatalf("round trip of %+v gives %+v, %v", records, again, err)
		}
		Empty().Apply(records, 1) // must not panic
	})
}
