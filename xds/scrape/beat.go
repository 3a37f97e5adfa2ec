package scrape

import "time"

const (
	// maxPhase bounds the delay of the first try.
	maxPhase = time.Second
	// jitterShare is the part of the interval by which a try may be early or late.
	jitterShare = 40
)

// beat says when tries are due: on a regular beat that is a little faster than the interval, each a little early or late, so
// that two of them are never further apart than the interval. The beat itself does not drift: endpoints that began together
// stay together, and their results go out in one version.
type beat struct {
	start  time.Time
	period time.Duration
	jitter func() time.Duration
	n      int64 // of the try that is due
}

// newBeat begins a beat at a random phase after now.
func newBeat(now time.Time, interval time.Duration, random func() float64) beat {
	slack := interval / jitterShare
	period := interval - slack
	return beat{
		start:  now.Add(time.Duration(random() * float64(min(period, maxPhase)))),
		period: period,
		jitter: func() time.Duration { return time.Duration(random() * float64(slack)) },
	}
}

// due returns the time of a try. Each call draws another jitter.
func (b *beat) due() time.Time {
	return b.start.Add(time.Duration(b.n)*b.period + b.jitter())
}

// next moves on to the first beat that is not before earliest and returns its time.
func (b *beat) next(earliest time.Time) time.Time {
	b.n++
	if missed := earliest.Sub(b.start.Add(time.Duration(b.n) * b.period)); missed > 0 {
		b.n += int64((missed + b.period - 1) / b.period)
	}
	return b.due()
}
