package groups

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// sequence is one run: steps that are chosen at random, each from a seed of its own and
// from what the members know, so that some may be left out.
type sequence struct {
	pair    *pair
	prefix  string // of the groups
	groups  []string
	kinds   []string // protocol type of each group
	members []*member
	clients []*client
	ids     [2]*ids
	answers chan *answer
	random  *rand.Rand // of the step

	admin *client // asks what nobody waits for

	trace    []string
	differs  string // how the brokers differ; "": they do not
	finished bool   // ends here, without a difference: what follows is not comparable
}

// quietFor is how long nothing has to come before a step is over. An answer that one
// broker has given is waited for from the other one for as long as patience.
const (
	quietFor = 40 * time.Millisecond
	patience = 5 * time.Second
)

// run carries out steps, and gives the sequence for its trace.
func run(p *pair, steps []uint64) *sequence {
	s := &sequence{
		pair: p, prefix: fmt.Sprintf("like-%d-%d-", p.begun, p.runs.Add(1)),
		ids: [2]*ids{newIDs(), newIDs()}, answers: make(chan *answer, 64),
	}
	s.groups, s.kinds = []string{s.prefix + "a", s.prefix + "b"}, []string{"consumer", "connect"}
	s.admin = s.newClient("admin")
	defer func() {
		for len(s.clients) > 0 {
			s.hangUp(s.clients[0])
		}
	}()
	for g := range s.groups { // so that both brokers have it
		s.exchange(s.admin, s.commitAs(g, "", -1, nil, 0))
	}
	for i, seed := range steps {
		if s.over() {
			break
		}
		s.random = rand.New(rand.NewPCG(seed, 0))
		s.note("step %d", i)
		s.step(seed)
		if !s.over() {
			s.describe()
		}
	}
	return s
}

func (s *sequence) over() bool { return s.differs != "" || s.finished }

func (s *sequence) note(format string, args ...any) {
	s.trace = append(s.trace, strings.ReplaceAll(fmt.Sprintf(format, args...), s.prefix, "$"))
}

// exchange sends a request and takes the answers that come of it, to others too.
func (s *sequence) exchange(c *client, req kmsg.Request) {
	s.note("  %s asks %s v%d %s", c.name, kmsg.NameForKey(req.Key()), req.GetVersion(), show(req))
	s.ask(c, req)
	s.settle()
}

// settle takes answers until both brokers have answered the same clients, and either
// nobody waits any more or nothing comes for a while.
func (s *sequence) settle() {
	last := time.Now()
	for {
		even, waiting := s.standing()
		idle := time.Since(last)
		if even && (waiting == 0 || idle > quietFor && s.allMayWait()) || idle > patience {
			break
		}
		select {
		case a := <-s.answers:
			a.c.answers[a.side] = a
			last = time.Now()
		case <-time.After(quietFor / 4):
		}
	}
	for _, c := range slices.Clone(s.clients) {
		if !s.over() && (c.answers[0] != nil || c.answers[1] != nil) {
			s.compare(c)
		}
	}
}

// standing tells whether the brokers have answered the same clients, and how many wait.
// A client whose request waits for nobody has to be answered.
func (s *sequence) standing() (even bool, waiting int) {
	even = true
	for _, c := range s.clients {
		if c.asked == nil {
			continue
		}
		answered := 0
		for _, a := range c.answers {
			if a != nil {
				answered++
			}
		}
		even = even && (answered == 2 || answered == 0 && waitsForOthers(c.asked))
		if answered < 2 {
			waiting++
		}
	}
	return even, waiting
}

// allMayWait reports whether the groups are where requests wait that have no answer: on a
// busy machine one may only be late.
func (s *sequence) allMayWait() bool {
	for _, c := range s.clients {
		if c.asked == nil || c.answers[0] != nil || c.member == nil {
			continue
		}
		state := "PreparingRebalance"
		if _, ok := c.asked.(*kmsg.SyncGroupRequest); ok {
			state = "CompletingRebalance"
		}
		for side := range s.ids {
			described, err := s.described(side)
			if err != nil || described.Groups[c.member.group].State != state {
				return false
			}
		}
	}
	return true
}

func waitsForOthers(req kmsg.Request) bool {
	switch req.(type) {
	case *kmsg.JoinGroupRequest, *kmsg.SyncGroupRequest:
		return true
	}
	return false
}

// compare compares what a client was answered.
func (s *sequence) compare(c *client) {
	api := kmsg.NameForKey(c.asked.Key())
	asked, m := c.asked, c.member
	a, b := c.answers[0], c.answers[1]
	c.asked, c.member, c.answers = nil, nil, [2]*answer{}
	switch {
	case a == nil || b == nil:
		if s.meantAlone(asked, a, b) {
			s.finished = true
			return
		}
		only := a
		if a == nil {
			only = b
		}
		s.differ("%s: answered by side %d alone: %s", api, only.side, s.shown(only))
	case a.err != nil || b.err != nil:
		if fmt.Sprint(a.err) != fmt.Sprint(b.err) {
			s.differ("%s: %s, %s", api, s.shown(a), s.shown(b))
		}
		s.finished = true
	default:
		x, y := s.plain(0, a.resp), s.plain(1, b.resp)
		s.note("  %s is answered %s", c.name, show(x))
		if list := differences("", x, y); len(list) > 0 {
			if s.meant(asked, list) {
				s.finished = true
				return
			}
			s.differ("%s: %s", api, strings.Join(list, "; "))
			return
		}
		s.learn(m, a.resp)
		if c != s.admin {
			s.hangUp(c)
		}
	}
}

func (s *sequence) shown(a *answer) string {
	if a.err != nil {
		return a.err.Error()
	}
	return show(s.plain(a.side, a.resp))
}

func (s *sequence) differ(format string, args ...any) {
	s.differs = fmt.Sprintf(format, args...)
	s.note("DIFFERENT: %s", s.differs)
}

// describe compares the groups. A broker may say what it does a moment later.
func (s *sequence) describe() {
	for deadline := time.Now().Add(patience); ; time.Sleep(quietFor / 2) {
		var x [2]map[string]any
		for side := range x {
			resp, err := s.described(side)
			if err != nil {
				s.differ("side %d describes no groups: %v", side, err)
				return
			}
			x[side] = s.plain(side, resp)
		}
		list := differences("", x[0], x[1])
		switch {
		case len(list) == 0:
			return
		case s.meant(kmsg.NewPtrDescribeGroupsRequest(), list):
			s.finished = true
			return
		case time.Now().After(deadline):
			s.note("  groups: %s", show(x[0]))
			s.differ("groups: %s", strings.Join(list, "; "))
			return
		}
	}
}

// described asks one broker for the groups, and gives them in their order.
func (s *sequence) described(side int) (*kmsg.DescribeGroupsResponse, error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = 5, s.groups
	resp, err := s.admin.conns[side].Do(req)
	if err != nil {
		return nil, err
	}
	all := resp.(*kmsg.DescribeGroupsResponse)
	slices.SortFunc(all.Groups, func(a, b kmsg.DescribeGroupsResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
	return all, nil
}
