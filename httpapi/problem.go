package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/coordinator"
)

// problem is the body of every error (RFC 9457).
type problem struct {
	Type   string `json:"type"` // always about:blank: the title is the status's
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Error  string `json:"error"` // Kafka's name
	Code   int16  `json:"code"`  // Kafka's number
}

// refuse answers with a problem.
func refuse(w http.ResponseWriter, status int, kind *kerr.Error, detail string) {
	write(w, status, "application/problem+json", problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Error: kind.Message, Code: kind.Code,
	})
}

// unavailable answers for a coordinator that could not say everything.
func unavailable(w http.ResponseWriter, err error) {
	kind := kerr.CoordinatorNotAvailable
	if errors.Is(err, coordinator.ErrLoading) {
		kind = kerr.CoordinatorLoadInProgress
	}
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, kind, "not all groups are known at the moment; try again")
}

func answer(w http.ResponseWriter, v any) { write(w, http.StatusOK, "application/json", v) }

func write(w http.ResponseWriter, status int, kind string, v any) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a client that has gone needs no answer
}
