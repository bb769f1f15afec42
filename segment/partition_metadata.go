package segment

import (
	"encoding/binary"
	"fmt"
	"path/filepath"

	"ringmain/internal/vfs"
	"ringmain/model"
)

const (
	metadataMagic   = "RMPM"
	metadataVersion = 1
)

// encodeMetadata makes the content of partition.metadata: whose directory it
// is.
func encodeMetadata(id model.TopicID, partition int32) []byte {
	b := append([]byte(nil), id[:]...)
	return sealEnvelope(metadataMagic, metadataVersion, binary.LittleEndian.AppendUint32(b, uint32(partition)))
}

func decodeMetadata(b []byte) (model.TopicID, int32, error) {
	p, err := openEnvelope(b, metadataMagic, metadataVersion)
	if err != nil {
		return model.TopicID{}, 0, err
	}
	if len(p) != 20 {
		return model.TopicID{}, 0, errDamaged
	}
	return model.TopicID(p[:16]), int32(binary.LittleEndian.Uint32(p[16:])), nil
}

func readMetadata(fsys vfs.FS, dir string) (model.TopicID, int32, error) {
	path := filepath.Join(dir, metadataName)
	b, err := vfs.ReadFile(fsys, path)
	if err != nil {
		return model.TopicID{}, 0, err
	}
	id, partition, err := decodeMetadata(b)
	if err != nil {
		return id, 0, fmt.Errorf("%s: %w", path, err)
	}
	return id, partition, nil
}
