package group

import "ringmain/coordinator"

// Count visits every group, for metrics. It writes nothing.
func (m *Machine) Count(s *coordinator.Step, visit func(kind Kind, state string)) {
	for _, g := range m.groups {
		visit(g.members.kind(), g.members.state(s))
	}
}
