package group

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/coordinator"
)

// DeleteGroup is one group of API 42: its offsets go, and all else that is stored of
// it. Groups with members stay, also one that gets members while its offsets go.
func (m *Machine) DeleteGroup(s *coordinator.Step, id string, reply func(code int16, err error)) {
	begun := false
	m.begin(s, deletion{
		next: func(t *tombstones) (done bool) {
			code, done := t.deleteGroup(id, begun)
			begun = true
			if done {
				coordinator.Answer(t.s, reply, code)
			}
			return done
		},
		unload: func(err error) { reply(0, err) },
	})
}

// deleteGroup deletes as much of the group as fits. begun says that an earlier step
// found it, and may have deleted all of it.
func (t *tombstones) deleteGroup(id string, begun bool) (code int16, done bool) {
	g := t.m.groups[id]
	switch {
	case g == nil && begun:
		return 0, true
	case g == nil:
		return kerr.GroupIDNotFound.Code, true
	}
	if code := g.members.mayDelete(); code != 0 {
		return code, true
	}
	for topic, offsets := range g.offsets.topics {
		for partition := range offsets.commits {
			if t.full() {
				return 0, false
			}
			t.write(g, topic, partition)
		}
	}
	t.forget(g)
	return 0, true
}
