package conformance

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// placed are broker configs that say where a broker lies and which part it plays:
// the recorded broker's and ours cannot agree on value and source.
var placed = map[string]bool{
	"advertised.listeners": true, "broker.id": true, "controller.listener.names": true, "controller.quorum.bootstrap.servers": true,
	"controller.quorum.voters": true, "inter.broker.listener.name": true, "listener.security.protocol.map": true, "listeners": true,
	"log.dir": true, "log.dirs": true, "metadata.log.dir": true, "node.id": true, "process.roles": true,
}

// maskConfig masks an entry of DescribeConfigs that belongs to the place.
func (s *script) maskConfig(v reflect.Value, m map[string]any) {
	switch x := v.Interface().(type) {
	case kmsg.DescribeConfigsResponseResourceConfig:
		if placed[x.Name] {
			for _, f := range []string{"Value", "Source", "IsDefault", "ConfigSynonyms"} {
				delete(m, f)
			}
		}
	case kmsg.DescribeConfigsResponseResourceConfigConfigSynonym:
		if placed[x.Name] {
			delete(m, "Value")
			delete(m, "Source")
		}
	}
}
