package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// Keys of the APIs that the dispatch treats by themselves or that files of
// this package name.
const (
	keyProduce              int16 = 0
	keyFetch                int16 = 1
	keyListOffsets          int16 = 2
	keyApiVersions          int16 = 18
	keyDeleteRecords        int16 = 21
	keyOffsetForLeaderEpoch int16 = 23
)

// apiName gives an API's name for messages.
func apiName(key int16) string { return kmsg.NameForKey(key) }
