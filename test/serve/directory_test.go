package serve

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"ringmain/test/harness"
)

// untouched runs a start that must be refused with exit code 1 and checks that
// every directory below dir is byte for byte as it was.
func untouched(t *testing.T, dir string, pieces []string, args ...string) {
	t.Helper()
	before := tree(t, dir)
	refused(t, dir, 1, pieces, local(args...)...)
	if after := tree(t, dir); !maps.Equal(before, after) {
		for name := range after {
			if content, ok := before[name]; !ok || content != after[name] {
				t.Errorf("%v: it made or changed %s", args, name)
			}
		}
		for name := range before {
			if _, ok := after[name]; !ok {
				t.Errorf("%v: it removed %s", args, name)
			}
		}
	}
}

func TestDirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := beginIn(t, dir, local("--data-dir", "data")...)
	r := first.ready()
	refused(t, dir, 1, []string{"in use by another process", "data"}, local("--data-dir", "data")...)
	create(t, r.kafka, "t", 1) // the first is none the worse
	produce(t, r.kafka, "t", 0, "x")
	first.stop()
}

func TestDirectoryOfAnotherNodeOrCluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clusters := map[string]string{}
	for _, name := range []string{"a", "b"} {
		p := beginIn(t, dir, local("--data-dir", name)...)
		clusters[name] = p.ready().cluster
		p.stop()
	}
	if clusters["a"] == clusters["b"] {
		t.Error("two clusters have one id")
	}
	untouched(t, dir, []string{"another cluster or node", "a is of node 1", "node is 2", "node.id"}, "--data-dir", "a", "--override", "node.id=2")
	untouched(t, dir, []string{"another cluster or node", clusters["a"], clusters["b"]}, "--override", "log.dirs=a,b")
	untouched(t, dir, []string{"another"}, "--override", "log.dirs=a", "--override", "metadata.log.dir=b")
}

// kafkas is a log directory as Kafka 4 formats it, with a topic.
var kafkas = map[string]string{
	"meta.properties":      "#\n#Mon Jan 05 10:00:00 UTC 2026\nnode.id=1\ndirectory.id=3cyWjNTPBjp4QqhhY3OdGg\nversion=1\ncluster.id=AAAAAAAAQACAAAAAAAAAAQ\n",
	"bootstrap.checkpoint": "\x00\x01\x02",
	".lock":                "",
	"__cluster_metadata-0/00000000000000000000.log": "metadata",
	"__cluster_metadata-0/quorum-state":             `{"leaderId":1,"leaderEpoch":1,"votedId":-1,"currentVoters":[{"voterId":1}],"data_version":0}`,
	"orders-0/00000000000000000000.log":             "records",
	"orders-0/00000000000000000000.index":           "",
	"orders-0/partition.metadata":                   "version: 0\ntopic_id: 3cyWjNTPBjp4QqhhY3OdGg",
	"recovery-point-offset-checkpoint":              "0\n1\norders 0 0\n",
}

func TestForeignDirectoriesAreRefusedAndUntouched(t *testing.T) {
	t.Parallel()
	withoutMeta := maps.Clone(kafkas)
	delete(withoutMeta, "meta.properties")
	for name, c := range map[string]struct {
		files  map[string]string
		pieces []string
	}{
		"Kafka's":                     {kafkas, []string{"formatted by Apache Kafka", "meta.properties"}},
		"Kafka's, no meta.properties": {withoutMeta, []string{"not a Ringmain data directory", "not empty"}},
		"somebody's":                  {map[string]string{"thesis.tex": "text"}, []string{"not a Ringmain data directory", "thesis.tex"}},
		"Kafka's, freshly formatted":  {map[string]string{"meta.properties": kafkas["meta.properties"]}, []string{"formatted by Apache Kafka"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "theirs"), c.files)
			untouched(t, dir, c.pieces, "--data-dir", "theirs")
			// Nor in second place, nor for the metadata; and then nothing new
			// is formatted either.
			untouched(t, dir, c.pieces, "--override", "log.dirs=new,theirs")
			untouched(t, dir, c.pieces, "--override", "log.dirs=new", "--override", "metadata.log.dir=theirs")
		})
	}
}

func TestDataDirectoryThatIsAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"file": "x"})
	untouched(t, dir, []string{"file", "not a directory"}, "--data-dir", "file")
	untouched(t, dir, []string{"file", "not a directory"}, "--data-dir", "file/below")
}

func TestNewerFormatsAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := beginIn(t, dir, local("--data-dir", "data")...)
	r := p.ready()
	create(t, r.kafka, "t", 1)
	produce(t, r.kafka, "t", 0, "x")
	p.stop()
	for _, name := range []string{"ringmain.properties", "log-directories"} {
		path := filepath.Join(dir, "data", name)
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// As the next version would write it: its own number, and sound.
		text, _, found := strings.Cut(strings.Replace(string(old), "format=1\n", "format=2\nnew.key=x\n", 1), "checksum=")
		if !found || !strings.Contains(text, "format=2") {
			t.Fatalf("%s: %q", name, old)
		}
		sum := crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
		write(t, dir, map[string]string{"data/" + name: fmt.Sprintf("%schecksum=%08x\n", text, sum)})
		untouched(t, dir, []string{"newer version of Ringmain", name, "format 2"}, "--data-dir", "data")
		// Damage is told from age.
		write(t, dir, map[string]string{"data/" + name: strings.Replace(string(old), "directory", "Directory", 1)})
		untouched(t, dir, []string{"damaged", name, "checksum"}, "--data-dir", "data")
		write(t, dir, map[string]string{"data/" + name: string(old)})
	}
	p = beginIn(t, dir, local("--data-dir", "data")...)
	r = p.ready()
	if got := read(t, r.kafka, "t", 0, 1); got[0] != "x" {
		t.Errorf("after the refused starts the log has %q", got)
	}
	p.stop()
}

func TestSeveralDirectoriesAndMetadataApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := local("--override", "log.dirs=a,b", "--override", "metadata.log.dir=meta")
	p := beginIn(t, dir, args...)
	r := p.ready()
	create(t, r.kafka, "t", 4)
	for i := range int32(4) {
		produce(t, r.kafka, "t", i, fmt.Sprint(i))
	}
	p.stop()
	for _, d := range []string{"a", "b"} {
		if n := len(partitionsIn(t, filepath.Join(dir, d), "t")); n != 2 {
			t.Errorf("%s has %d of 4 partitions; they are to be spread evenly", d, n)
		}
		if _, err := os.Stat(filepath.Join(dir, d, "__cluster_metadata")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s has metadata, which belongs to metadata.log.dir (%v)", d, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "meta", "__cluster_metadata")); err != nil {
		t.Error(err)
	}
	// The order of log.dirs is of no importance, and neither is a move.
	if err := os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	p = beginIn(t, dir, local("--override", "log.dirs=moved,a,new", "--override", "metadata.log.dir=meta")...)
	again := p.ready()
	if again.cluster != r.cluster {
		t.Errorf("cluster %s became %s", r.cluster, again.cluster)
	}
	for i := range int32(4) {
		if got := read(t, again.kafka, "t", i, 1); got[0] != fmt.Sprint(i) {
			t.Errorf("partition %d has %q", i, got)
		}
	}
	// A directory that was added takes new partitions first.
	create(t, again.kafka, "u", 2)
	produce(t, again.kafka, "u", 0, "x")
	produce(t, again.kafka, "u", 1, "x")
	p.stop()
	if n := len(partitionsIn(t, filepath.Join(dir, "new"), "u")); n != 2 {
		t.Errorf("the new directory has %d partitions", n)
	}
}

func partitionsIn(t *testing.T, dir, topic string) (names []string) {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		if strings.HasPrefix(e.Name(), topic+"-") {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestMetadataMissing: with empty metadata every partition on disk would belong
// to no topic.
func TestMetadataMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := beginIn(t, dir, local("--override", "log.dirs=a,b")...)
	r := p.ready()
	create(t, r.kafka, "t", 2)
	produce(t, r.kafka, "t", 0, "x")
	produce(t, r.kafka, "t", 1, "y")
	p.stop()

	metadata := filepath.Join(dir, "a", "__cluster_metadata")
	rename(t, metadata, filepath.Join(dir, "aside"))
	for _, args := range [][]string{
		{"--override", "log.dirs=a,b"},
		{"--override", "log.dirs=b"},
		{"--override", "log.dirs=b", "--override", "metadata.log.dir=new"},
	} {
		untouched(t, dir, []string{"missing"}, args...)
	}
	untouched(t, dir, []string{"the metadata is missing", filepath.Join("b", "__cluster_metadata"), "restore", "metadata.log.dir"}, "--override", "log.dirs=b")
	rename(t, filepath.Join(dir, "aside"), metadata)

	// What makes a directory one of metadata is gone, not the directory.
	state := filepath.Join(metadata, "quorum-state")
	rename(t, state, filepath.Join(dir, "aside"))
	untouched(t, dir, []string{"missing", "__cluster_metadata"}, "--override", "log.dirs=a,b")
	rename(t, filepath.Join(dir, "aside"), state)

	p = beginIn(t, dir, local("--override", "log.dirs=a,b")...)
	r = p.ready()
	if got := read(t, r.kafka, "t", 0, 1); got[0] != "x" {
		t.Errorf("the log has %q", got)
	}
	p.stop()
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestLogDirectoryLost: a volume that is not mounted is an empty directory.
func TestLogDirectoryLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	both := []string{"--override", "log.dirs=a,b"}
	p := beginIn(t, dir, local(both...)...)
	r := p.ready()
	create(t, r.kafka, "t", 2)
	produce(t, r.kafka, "t", 0, "x")
	produce(t, r.kafka, "t", 1, "x")
	p.stop()
	lost := partitionsIn(t, filepath.Join(dir, "b"), "t")
	if len(lost) != 1 {
		t.Fatalf("b has %v", lost)
	}

	rename(t, filepath.Join(dir, "b"), filepath.Join(dir, "unmounted"))
	pieces := []string{"a log directory is missing", "b (directory id", "ringmain.lost.log.dirs="}
	untouched(t, dir, pieces, both...)
	untouched(t, dir, pieces, "--override", "log.dirs=a")
	if err := os.Mkdir(filepath.Join(dir, "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	untouched(t, dir, pieces, both...)
	untouched(t, dir, pieces, append(both, "--override", "ringmain.lost.log.dirs=AAAAAAAAAAAAAAAAAAAAAA")...)

	// Mounted again, all is well.
	if err := os.Remove(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	rename(t, filepath.Join(dir, "unmounted"), filepath.Join(dir, "b"))
	p = beginIn(t, dir, local(both...)...)
	p.ready()
	p.stop()

	// Lost for good, and the operator says so.
	if err := os.RemoveAll(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	q := beginIn(t, dir, local(both...)...)
	if code := q.wait(); code != 1 {
		t.Fatalf("exit code %d", code)
	}
	id := regexp.MustCompile(`ringmain\.lost\.log\.dirs=(\S+)`).FindStringSubmatch(q.errors())
	if id == nil {
		t.Fatalf("no id in %q", q.errors())
	}
	p = beginIn(t, dir, local(append(both, "--override", "ringmain.lost.log.dirs="+id[1])...)...)
	r = p.ready()
	if !strings.Contains(p.errors(), "level=WARN") {
		t.Error("nothing is logged about it")
	}
	for partition, end := range ends(t, r.kafka, "t") {
		want := int64(1)
		if fmt.Sprintf("t-%d", partition) == lost[0] {
			want = 0
		}
		if end.Offset != want {
			t.Errorf("partition %d ends at %d, want %d", partition, end.Offset, want)
		}
	}
	for _, d := range describe(t, r.kafka, "t").Partitions {
		if d.LeaderEpoch != 1 {
			t.Errorf("partition %d has leader epoch %d: clients cannot find out that records are gone", d.Partition, d.LeaderEpoch)
		}
	}
	p.stop()
	// The key may stay, and need not.
	p = beginIn(t, dir, local(both...)...)
	p.ready()
	p.stop()
}

// TestStraysAreKept: metadata that is older than the logs knows nothing of the
// topics made since, and must not cost them.
func TestStraysAreKept(t *testing.T) {
	t.Parallel()
	b := harness.StartOwn(t, harness.Options{})
	create(t, b.Addr(), "old", 1)
	produce(t, b.Addr(), "old", 0, "x")
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	metadata := filepath.Join(b.DataDir(), "__cluster_metadata")
	backup := tree(t, metadata)
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	create(t, b.Addr(), "young", 1)
	produce(t, b.Addr(), "young", 0, "precious")
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(metadata); err != nil {
		t.Fatal(err)
	}
	for name := range backup {
		if strings.HasSuffix(name, "/") {
			delete(backup, name)
		}
	}
	write(t, metadata, backup)
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	names := partitionsIn(t, b.DataDir(), "young")
	if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "young-0.") && strings.HasSuffix(n, "-stray") }) {
		t.Errorf("the directory of the young topic is gone: %v", names)
	}
	for _, n := range names {
		if !strings.Contains(tree(t, filepath.Join(b.DataDir(), n))["00000000000000000000.log"], "precious") {
			t.Errorf("%s has no records", n)
		}
	}
	if got := read(t, b.Addr(), "old", 0, 1); got[0] != "x" {
		t.Errorf("the old topic has %q", got)
	}
	// The name is free.
	create(t, b.Addr(), "young", 1)
	produce(t, b.Addr(), "young", 0, "again")
	if got := read(t, b.Addr(), "young", 0, 1); got[0] != "again" {
		t.Errorf("the new topic has %q", got)
	}
}

// TestPartitionInTwoDirectories: a copy is refused, and what a deleted topic left
// is told from the topic that has its name now.
func TestPartitionInTwoDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	both := []string{"--override", "log.dirs=a,b"}
	p := beginIn(t, dir, local("--data-dir", "a")...)
	r := p.ready()
	create(t, r.kafka, "t", 1)
	produce(t, r.kafka, "t", 0, "old")
	p.stop()
	old := tree(t, filepath.Join(dir, "a", "t-0"))
	maps.DeleteFunc(old, func(n, _ string) bool { return strings.HasSuffix(n, "/") })

	p = beginIn(t, dir, local(both...)...)
	p.ready()
	p.stop()
	write(t, filepath.Join(dir, "b", "t-0"), old)
	refused(t, dir, 1, []string{"t-0", "is in a and in b", "move one of them away"}, local(both...)...)
	rename(t, filepath.Join(dir, "b", "t-0"), filepath.Join(dir, "copy"))

	p = beginIn(t, dir, local(both...)...)
	r = p.ready()
	if _, err := kadm.NewClient(client(t, r.kafka)).DeleteTopic(within(t), "t"); err != nil {
		t.Fatal(err)
	}
	create(t, r.kafka, "t", 1)
	produce(t, r.kafka, "t", 0, "new")
	p.stop()
	home, other := "a", "b"
	if len(partitionsIn(t, filepath.Join(dir, home), "t")) == 0 {
		home, other = other, home
	}
	write(t, filepath.Join(dir, other, "t-0"), old)
	// In either order of the directories.
	for _, order := range []string{home + "," + other, other + "," + home} {
		p = beginIn(t, dir, local("--override", "log.dirs="+order, "--override", "metadata.log.dir=a")...)
		r = p.ready()
		if got := read(t, r.kafka, "t", 0, 1); got[0] != "new" {
			t.Errorf("the topic has %q", got)
		}
		p.stop()
		names := partitionsIn(t, filepath.Join(dir, other), "t")
		if len(names) != 1 || !strings.HasSuffix(names[0], "-stray") {
			t.Errorf("%s has %v", other, names)
		}
		rename(t, filepath.Join(dir, other, names[0]), filepath.Join(dir, other, "t-0"))
	}
}

// TestListOfLogDirectoriesIsGone: a list that is missing beside partitions was lost, and the
// start says so; without partitions a first start may have ended before it wrote one.
func TestListOfLogDirectoriesIsGone(t *testing.T) {
	t.Parallel()
	for _, used := range []bool{false, true} {
		dir := t.TempDir()
		p := beginIn(t, dir, local("--data-dir", "data")...)
		if r := p.ready(); used {
			create(t, r.kafka, "t", 1)
			produce(t, r.kafka, "t", 0, "x")
		}
		p.stop()
		list := filepath.Join(dir, "data", "log-directories")
		if err := os.Remove(list); err != nil {
			t.Fatal(err)
		}
		p = beginIn(t, dir, local("--data-dir", "data")...)
		p.ready()
		p.stop()
		if strings.Contains(p.errors(), "list of log directories is missing") != used {
			t.Errorf("partitions %v: standard error is %q", used, p.errors())
		}
		if _, err := os.Stat(list); err != nil {
			t.Errorf("partitions %v: %v", used, err)
		}
	}
}

// TestFirstStartKilled: whatever a first start left when it was killed, the
// next one completes.
func TestFirstStartKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := beginIn(t, dir, local("--override", "log.dirs=a,b")...)
	cluster := p.ready().cluster
	_ = p.cmd.Process.Kill()
	p.wait()
	// In the order in which they are made: take the last away each time.
	made := []string{"a/log-directories"}
	for _, in := range []string{"b", "a"} {
		for _, name := range []string{"newest-segment-checkpoint", "boot-id", "cleaner-offset-checkpoint", "log-start-offset-checkpoint", "recovery-point-offset-checkpoint", "ringmain.properties"} {
			made = append(made, in+"/"+name)
		}
	}
	for _, name := range made {
		err := os.Remove(filepath.Join(dir, name))
		if err != nil && (runtime.GOOS == "linux" || !strings.HasSuffix(name, "boot-id")) {
			t.Fatal(err)
		}
		copied := t.TempDir()
		files := tree(t, dir)
		maps.DeleteFunc(files, func(n, _ string) bool { return strings.HasSuffix(n, "/") })
		write(t, copied, files)
		p := beginIn(t, copied, local("--override", "log.dirs=a,b")...)
		if got := p.ready().cluster; got != cluster {
			t.Errorf("without %s: cluster %s became %s", name, cluster, got)
		}
		p.stop()
	}
}
