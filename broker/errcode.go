package broker

import (
	"errors"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/coordinator"
	"ringmain/partition"
	"ringmain/record"
	"ringmain/segment"
	"ringmain/wire"
)

// errDuplicatePartition: a request names the same partition twice.
var errDuplicatePartition = errors.New("the partition is named more than once in the request")

// errRequiredAcks: a Produce request asks for acks that do not exist.
var errRequiredAcks = errors.New("acks must be -1, 0 or 1")

// errInternalTopic: a client writes to a topic that a coordinator owns.
var errInternalTopic = errors.New("the topic is internal")

// partitionCode is the one place that turns an error of a partition into
// Kafka's code. What is not listed is a bug of ours and answered as
// UNKNOWN_SERVER_ERROR.
func partitionCode(err error) int16 {
	var invalid *record.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &invalid):
		return invalid.Kind.Code()
	case errors.Is(err, partition.ErrNotLeader), errors.Is(err, partition.ErrClosed):
		return kerr.NotLeaderForPartition.Code
	case errors.Is(err, partition.ErrDeleted):
		return kerr.UnknownTopicOrPartition.Code
	case errors.Is(err, partition.ErrFencedEpoch):
		return kerr.FencedLeaderEpoch.Code
	case errors.Is(err, partition.ErrUnknownEpoch):
		return kerr.UnknownLeaderEpoch.Code
	case errors.Is(err, partition.ErrNotEnoughReplicas):
		return kerr.NotEnoughReplicas.Code
	case errors.Is(err, segment.ErrOffsetOutOfRange):
		return kerr.OffsetOutOfRange.Code
	case errors.Is(err, segment.ErrOutOfOrderSequence):
		return kerr.OutOfOrderSequenceNumber.Code
	case errors.Is(err, segment.ErrInvalidProducerEpoch):
		return kerr.InvalidProducerEpoch.Code
	case errors.Is(err, segment.ErrCorrupt):
		return kerr.CorruptMessage.Code
	case errors.Is(err, segment.ErrStorage), errors.Is(err, segment.ErrNoSpace), errors.Is(err, segment.ErrClosed),
		errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE): // no descriptor for a segment: a later try may get one
		return kerr.KafkaStorageError.Code
	case errors.Is(err, errRequiredAcks):
		return kerr.InvalidRequiredAcks.Code
	case errors.Is(err, errInternalTopic):
		return kerr.InvalidTopicException.Code
	case errors.Is(err, errDuplicatePartition):
		return kerr.InvalidRequest.Code
	}
	return kerr.UnknownServerError.Code
}

// coordinatorCode is the same for errors of a coordinator. Clients look for the
// coordinator and try again.
func coordinatorCode(err error) int16 {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, coordinator.ErrLoading):
		return kerr.CoordinatorLoadInProgress.Code
	case errors.Is(err, coordinator.ErrNotCoordinator):
		return kerr.NotCoordinator.Code
	case errors.Is(err, coordinator.ErrUnavailable):
		return kerr.CoordinatorNotAvailable.Code
	}
	return kerr.UnknownServerError.Code
}

// produceError gives a failed append's code, sentence and, where single
// records are to blame, which.
func produceError(err error) (code int16, message string, records []wire.RecordError) {
	code = partitionCode(err)
	var invalid *record.Error
	if !errors.As(err, &invalid) {
		return code, "", nil
	}
	for _, r := range invalid.Records {
		records = append(records, wire.RecordError{BatchIndex: r.BatchIndex, Message: r.Message})
	}
	return code, invalid.Message, records
}

// missingCode says why a partition has no replica here: its log could not be
// opened, the topic is not known at all, or the partition is not.
func missingCode(s *served, index int32, byID bool) int16 {
	switch {
	case s.isOffline(index):
		return kerr.KafkaStorageError.Code
	case byID && s == nil:
		return kerr.UnknownTopicID.Code
	}
	return kerr.UnknownTopicOrPartition.Code
}

// goneCode says what became of a topic that a session knew by its id: now is the one
// that has its name today, nil if none has (KIP-516).
func goneCode(now *served, index int32) int16 {
	if now.at(index) == nil && !now.isOffline(index) {
		return kerr.UnknownTopicOrPartition.Code
	}
	return kerr.InconsistentTopicID.Code
}

// namesLogStart tells whether the answer to a failed append says where the log
// starts: where the log itself refused it, as in Kafka.
func namesLogStart(err error) bool {
	var invalid *record.Error
	switch {
	case errors.As(err, &invalid):
		return !invalid.Request && invalid.Kind != record.ErrCorrupt && invalid.Kind != record.ErrTooLarge && invalid.Kind != record.ErrListTooLarge
	case errors.Is(err, segment.ErrOutOfOrderSequence), errors.Is(err, segment.ErrInvalidProducerEpoch), errors.Is(err, partition.ErrNotEnoughReplicas):
		return true
	}
	return false
}
