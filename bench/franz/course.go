package franz

import (
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench/load"
	"ringmain/bench/workload"
)

// course is where a consumer reads: what it begins with, and what it turns to
// after each poll. For the goroutine that polls.
type course interface {
	// from is where each partition begins.
	from() map[string]map[int32]kgo.Offset
	// hold keeps a new client from fetching before begin, where it must be.
	hold(*kgo.Client)
	begin(*kgo.Client)
	// saw is told every record that was read, and advance that a poll is done with.
	saw(number int, offset int64)
	advance(*kgo.Client)
	// due is the offset that comes next in a partition, and moves on with what is read.
	due(number int) *int64
	// number is that of a partition in Env.Partitions.
	number(topic string, partition int32) int
}

func newCourse(env *load.Env, consumer int, own []int) course {
	a := assignment{all: env.Partitions, own: own, numbers: map[string]map[int32]int{}, next: map[int]*int64{}}
	for _, n := range own {
		a.next[n] = new(int64)
		p := env.Partitions[n]
		if a.numbers[p.Topic] == nil {
			a.numbers[p.Topic] = map[int32]int{}
		}
		a.numbers[p.Topic][p.Index] = n
	}
	switch env.Spec.FetchMode {
	case workload.CatchUp:
		return &passes{assignment: a, read: map[int]bool{}}
	case workload.Random:
		// Another source than the producer's of the same number.
		return &jumps{a, rand.New(rand.NewPCG(uint64(env.Spec.Seed), ^uint64(consumer)))}
	}
	return &tail{a}
}

// assignment is the partitions of one consumer.
type assignment struct {
	all     []load.Partition
	own     []int
	numbers map[string]map[int32]int
	next    map[int]*int64 // by number, the offset that comes next
}

func (a *assignment) number(topic string, partition int32) int { return a.numbers[topic][partition] }

func (a *assignment) due(number int) *int64 { return a.next[number] }

// offsets are those of all partitions of the consumer, from where it reads on.
func (a *assignment) offsets(at func(load.Partition) int64) map[string]map[int32]kgo.EpochOffset {
	all := make(map[string]map[int32]kgo.EpochOffset, len(a.numbers))
	for topic, partitions := range a.numbers {
		all[topic] = make(map[int32]kgo.EpochOffset, len(partitions))
		for index, n := range partitions {
			*a.next[n] = at(a.all[n])
			all[topic][index] = kgo.EpochOffset{Epoch: -1, Offset: *a.next[n]}
		}
	}
	return all
}

func (a *assignment) starting(at func(load.Partition) int64) map[string]map[int32]kgo.Offset {
	all := map[string]map[int32]kgo.Offset{}
	for topic, partitions := range a.offsets(at) {
		all[topic] = map[int32]kgo.Offset{}
		for index, o := range partitions {
			all[topic][index] = kgo.NewOffset().At(o.Offset)
		}
	}
	return all
}

func (a *assignment) indexes() map[string][]int32 {
	all := map[string][]int32{}
	for topic, partitions := range a.numbers {
		for index := range partitions {
			all[topic] = append(all[topic], index)
		}
	}
	return all
}

func start(p load.Partition) int64 { return p.Start }
func end(p load.Partition) int64   { return p.End }

// tail reads records as they are written.
type tail struct{ assignment }

func (t *tail) from() map[string]map[int32]kgo.Offset { return t.starting(end) }
func (t *tail) hold(*kgo.Client)                      {}
func (t *tail) begin(*kgo.Client)                     {}
func (t *tail) saw(int, int64)                        {}
func (t *tail) advance(*kgo.Client)                   {}

// passes reads everything that was there, then begins again. A partition that is
// read waits until all are: to set an offset ends what is being fetched, with its
// connection.
type passes struct {
	assignment
	read map[int]bool       // partitions, in this pass
	idle map[string][]int32 // those that came to their end in this poll
}

func (p *passes) from() map[string]map[int32]kgo.Offset { return p.starting(start) }
func (p *passes) hold(c *kgo.Client)                    { c.PauseFetchPartitions(p.indexes()) }
func (p *passes) begin(c *kgo.Client)                   { c.ResumeFetchPartitions(p.indexes()) }

func (p *passes) saw(number int, offset int64) {
	at := &p.all[number]
	if offset < at.End-1 || p.read[number] {
		return
	}
	p.read[number] = true
	if p.idle == nil {
		p.idle = map[string][]int32{}
	}
	p.idle[at.Topic] = append(p.idle[at.Topic], at.Index)
}

func (p *passes) advance(c *kgo.Client) {
	switch {
	case len(p.read) == len(p.own):
		clear(p.read)
		c.SetOffsets(p.offsets(start))
		c.ResumeFetchPartitions(p.indexes())
	case p.idle != nil:
		c.PauseFetchPartitions(p.idle)
	}
	p.idle = nil
}

// jumps reads from anywhere, and from elsewhere after each poll.
type jumps struct {
	assignment
	random *rand.Rand
}

func (j *jumps) anywhere(p load.Partition) int64 { return p.Start + j.random.Int64N(p.End-p.Start) }

func (j *jumps) from() map[string]map[int32]kgo.Offset { return j.starting(j.anywhere) }
func (j *jumps) hold(*kgo.Client)                      {}
func (j *jumps) begin(*kgo.Client)                     {}
func (j *jumps) saw(int, int64)                        {}
func (j *jumps) advance(c *kgo.Client)                 { c.SetOffsets(j.offsets(j.anywhere)) }
