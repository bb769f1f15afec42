package group

import "fmt"

// Kind is the type of a group, in the words of ListGroups version 5 (KIP-848).
type Kind string

// The kinds whose progress is committed offsets.
const (
	Classic  Kind = "classic"
	Consumer Kind = "consumer"
)

// Supported is nil for groups with committed offsets, and says what to use for others.
func (k Kind) Supported(id string) error {
	switch k {
	case Classic, Consumer:
		return nil
	case "share":
		return fmt.Errorf("group %q is a share group: it has no committed offsets and no fixed owners of partitions; use kafka-share-groups", id)
	case "streams":
		return fmt.Errorf("group %q is a streams group; use kafka-streams-groups", id)
	}
	return fmt.Errorf("group %q is of type %q, which is not known here", id, k)
}
