package simserver

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// JournalStep is what happened to an inference request.
type JournalStep byte

// The steps of a request. A fault may end it after any of them.
const (
	JournalArrived JournalStep = 'A' // its headers are there
	JournalBegan   JournalStep = 'B' // the first byte of a successful answer is about to be sent
	JournalEnded   JournalStep = 'E' // the last byte of it is about to be sent
)

// JournalEntry is one line of a journal: "NANOSECONDS STEP ID".
type JournalEntry struct {
	At   time.Time // wall clock
	Step JournalStep
	ID   string // of the request
}

// maxJournalID bounds the ids that are kept: a line must be one write.
const maxJournalID = 256

// AppendJournal appends the line of an entry to dst.
func AppendJournal(dst []byte, e JournalEntry) []byte {
	dst = strconv.AppendInt(dst, e.At.UnixNano(), 10)
	dst = append(dst, ' ', byte(e.Step), ' ')
	return append(append(dst, e.ID...), '\n')
}

// ParseJournalEntry reads a line, without its end.
func ParseJournalEntry(line []byte) (JournalEntry, error) {
	at, rest, ok := bytes.Cut(line, []byte{' '})
	ns, err := strconv.ParseInt(string(at), 10, 64)
	if !ok || err != nil {
		return JournalEntry{}, fmt.Errorf("journal: time %q: want nanoseconds and a blank", at)
	}
	step, id, _ := bytes.Cut(rest, []byte{' '})
	if len(step) != 1 || bytes.IndexByte([]byte{byte(JournalArrived), byte(JournalBegan), byte(JournalEnded)}, step[0]) < 0 {
		return JournalEntry{}, fmt.Errorf("journal: step %q: want A, B or E", step)
	}
	if !validJournalID(string(id)) {
		return JournalEntry{}, errors.New("journal: the id is empty, too long or has a blank or line break")
	}
	return JournalEntry{At: time.Unix(0, ns), Step: JournalStep(step[0]), ID: string(id)}, nil
}

func validJournalID(id string) bool {
	if id == "" || len(id) > maxJournalID {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] == 0x7f {
			return false
		}
	}
	return true
}

// journal writes a step of the request with this id, if a journal is kept.
func (s *Server) journal(step JournalStep, id string) {
	if s.cfg.Journal == nil || !validJournalID(id) {
		return
	}
	_, _ = s.cfg.Journal.Write(AppendJournal(nil, JournalEntry{At: time.Now(), Step: step, ID: id}))
}
