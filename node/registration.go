package node

import (
	"slices"

	"ringmain/metadata"
)

// sameRegistration tells whether a registration already says what b says. A
// single broker's incarnation tells nobody anything, so a restart on the same
// addresses writes nothing.
func sameRegistration(a, b *metadata.Broker) bool {
	return a.Rack == b.Rack && a.Fenced == b.Fenced && slices.Equal(a.Endpoints, b.Endpoints)
}
