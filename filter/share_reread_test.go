package filter_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestTakenOverOnce has a VM ask for what a busy one wrote, whose log is ahead of its vector: no record is taken over twice.
func TestTakenOverOnce(t *testing.T) {
	const us = time.Microsecond
	p := sharers(t, 3, 2, plan.SharingProcess)
	send := func(worker, i int, wait time.Duration) {
		r := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("once"+strconv.Itoa(i), 500)))
		p.Workers[worker].Do(&r)
		p.Advance(wait)
	}
	send(2, 0, 5*time.Millisecond)
	r := lifecycletest.Chat(lifecycletest.ChatBody("hi"))
	open := p.Workers[1].Open(&r)
	open.Receive()
	for i := 1; i < 48; i++ {
		send(1, i, 300*us)
	}
	p.Advance(time.Millisecond)
	send(1, 48, 50*us) // is written with the vector
	send(2, 0, 1100*us)
	for i := 49; i < 52; i++ {
		send(1, i, 100*us) // the first one is written with the vector
	}
	for i := 52; i < 58; i++ {
		send(1, i, 50*us) // the log gets a full slot
	}
	send(2, 48, 0) // reads it
	p.Advance(600 * us)
	send(2, 0, 0) // reads the vector
	open.Close()
	p.Run(time.Second)
	const picks = 1 + 57 + 4
	if n := p.Metric("zerohop_sharing_folded_records_total").Value; n > picks {
		t.Errorf("%d records were taken over of %d", n, picks)
	}
}

// TestSlowFirstBody has ticks come while the body of a VM's first request does: others see its pick as soon as it is made.
func TestSlowFirstBody(t *testing.T) {
	p := sharers(t, 3, 2, plan.SharingProcess)
	hi := lifecycletest.Chat(lifecycletest.ChatBody("hi"))
	p.Workers[1].Do(&hi)
	slow := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("slow", 5000)))
	slow.Chunk, slow.At, slow.Do = 1000, hosttest.GotChunk, func() { p.Run(300 * time.Millisecond) }
	open := p.Workers[2].Open(&slow)
	open.Receive()
	p.Advance(5 * time.Millisecond)
	vm(p.Workers[1]).Look(uint64(p.Now()))
	if got := vm(p.Workers[1]).Believed(); got != 1 {
		t.Errorf("%d believed to be in flight, want 1", got)
	}
	open.Close()
}
