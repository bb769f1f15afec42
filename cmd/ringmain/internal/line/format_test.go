package line

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func sample() *kgo.Record {
	return &kgo.Record{
		Topic: "orders", Partition: 3, Offset: 42, LeaderEpoch: 7,
		Key: []byte("k1"), Value: []byte("hello"),
		Timestamp: time.UnixMilli(1700000000123),
		Headers:   []kgo.RecordHeader{{Key: "a", Value: []byte("b")}, {Key: "n"}, {Key: "e", Value: []byte{}}},
	}
}

func TestFormatTokens(t *testing.T) {
	cases := map[string]string{
		"%s":                   "hello",
		"%S %K":                "5 2",
		"%R":                   "\x00\x00\x00\x05",
		"%k=%s":                "k1=hello",
		"%t[%p]@%o e%e %T":     "orders[3]@42 e7 1700000000123",
		"%h":                   "a=b,n=NULL,e=",
		`100%% \t%s\n`:         "100% \thello\n",
		`\x41\x00\\%s\0`:       "A\x00\\hello\x00",
		"no tokens":            "no tokens",
		"":                     "",
		"ü%s":                  "ühello",
		"Topic %t [%p] at %o:": "Topic orders [3] at 42:",
	}
	for in, want := range cases {
		f, err := ParseFormat(in, "")
		if err != nil {
			t.Errorf("ParseFormat(%q): %v", in, err)
			continue
		}
		if got := string(f.Append([]byte("pre "), sample())); got != "pre "+want {
			t.Errorf("%q gives %q; want %q", in, got, want)
		}
	}
}

func TestFormatNull(t *testing.T) {
	f, err := ParseFormat("%k|%s|%K|%S|%R|%h", "NULL")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(f.Append(nil, &kgo.Record{})), "NULL|NULL|-1|-1|\xff\xff\xff\xff|"; got != want {
		t.Errorf("null record gives %q; want %q", got, want)
	}
	if got, want := string(f.Append(nil, &kgo.Record{Key: []byte{}, Value: []byte{}})), "||0|0|\x00\x00\x00\x00|"; got != want {
		t.Errorf("empty record gives %q; want %q", got, want)
	}
}

func TestFormatErrors(t *testing.T) {
	for _, in := range []string{"%", "50%", "%z", `\`, `\q`, `\x4`, `\xgg`, "% s"} {
		if _, err := ParseFormat(in, ""); err == nil {
			t.Errorf("ParseFormat(%q): no error", in)
		}
	}
}

func TestEnvelope(t *testing.T) {
	got, err := AppendEnvelope(nil, sample())
	want := `{"topic":"orders","partition":3,"offset":42,"timestamp":1700000000123,"timestamp_type":"create","key":"k1","value":"hello","headers":[{"name":"a","value":"b"},{"name":"n","value":null},{"name":"e","value":""}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	got, err = AppendEnvelope(nil, &kgo.Record{Topic: "t", Timestamp: time.UnixMilli(0), Value: []byte{0xff, '<'}})
	want = `{"topic":"t","partition":0,"offset":0,"timestamp":0,"timestamp_type":"create","key":null,"value":"/zw=","base64":["value"]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}
