package lag

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// What bounds the posts of one rule.
const (
	maxQueued   = 256 // events that wait; another one is dropped
	postTimeout = 10 * time.Second
	maxPosts    = 8 // of one event; then it is given up
	firstPause  = time.Second
	maxPause    = time.Minute // the pauses double up to here
)

// sender posts the events of one rule to its webhook, in order. One for each rule, so
// that an address where nobody answers holds up nothing else.
type sender struct {
	alert  string
	url    string
	log    *slog.Logger
	pause  time.Duration
	client *http.Client
	queue  chan Event

	delivered, failed, dropped atomic.Uint64
}

func newSender(alert, address string, cfg *Config) *sender {
	pause := cfg.pause
	if pause == 0 {
		pause = firstPause
	}
	return &sender{
		alert: alert, url: address, log: cfg.Log, pause: pause, queue: make(chan Event, maxQueued),
		client: &http.Client{
			Timeout: postTimeout,
			// Who may be told is what the file says, and nobody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// send queues an event. It does not wait.
func (s *sender) send(e Event) {
	select {
	case s.queue <- e:
	default:
		s.dropped.Add(1)
		s.log.Warn("an alert was not posted: too many wait for the webhook", "alert", s.alert, "group", e.Group, "state", e.State, "waiting", maxQueued)
	}
}

// run posts until ctx ends.
func (s *sender) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-s.queue:
			s.deliver(ctx, e)
		}
	}
}

// deliver posts one event until it is taken, refused, or posted too often.
func (s *sender) deliver(ctx context.Context, e Event) {
	body, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("lag: an event is no JSON: %v", err))
	}
	pause := s.pause
	for n := 1; ; n++ {
		again, err := s.post(ctx, body)
		if err == nil {
			s.delivered.Add(1)
			return
		}
		if ctx.Err() != nil {
			return
		}
		if !again || n == maxPosts {
			s.failed.Add(1)
			s.log.Error("an alert could not be posted to its webhook", "alert", s.alert, "group", e.Group, "state", e.State, "posts", n, "error", err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}

// post sends one request. again says that another one may do better. The error does not
// name the address: it may have a secret in it.
func (s *sender) post(ctx context.Context, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the address is not one that can be posted to")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ringmain")
	resp, err := s.client.Do(req)
	if err != nil {
		var named *url.Error
		if errors.As(err, &named) {
			err = named.Err
		}
		return true, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	switch {
	case resp.StatusCode/100 == 2:
		return false, nil
	case resp.StatusCode >= 500, resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusRequestTimeout:
		again = true
	}
	return again, fmt.Errorf("it answered %s", resp.Status)
}
