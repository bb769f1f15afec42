package broker

import "math"

// Operations of Kafka's AclOperation, as bit numbers in the fields
// authorized_operations (KIP-430).
const (
	opRead            = 3
	opWrite           = 4
	opCreate          = 5
	opDelete          = 6
	opAlter           = 7
	opDescribe        = 8
	opClusterAction   = 9
	opDescribeConfigs = 10
	opAlterConfigs    = 11
	opIdempotentWrite = 12
)

// Without an authorizer everybody may do everything that the kind of resource
// knows: the sets are those that Kafka answers then.
const (
	allTopicOperations = 1<<opRead | 1<<opWrite | 1<<opCreate | 1<<opDelete | 1<<opAlter | 1<<opDescribe |
		1<<opDescribeConfigs | 1<<opAlterConfigs
	allClusterOperations = 1<<opCreate | 1<<opAlter | 1<<opDescribe | 1<<opClusterAction | 1<<opDescribeConfigs |
		1<<opAlterConfigs | 1<<opIdempotentWrite
	allGroupOperations = 1<<opRead | 1<<opDelete | 1<<opDescribe | 1<<opDescribeConfigs | 1<<opAlterConfigs

	// operationsOmitted says that the client did not ask.
	operationsOmitted = math.MinInt32
)

// operations gives the field's value.
func operations(asked bool, all int32) int32 {
	if asked {
		return all
	}
	return operationsOmitted
}
