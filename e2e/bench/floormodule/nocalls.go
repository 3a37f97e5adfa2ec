//go:build wasip1 && !hostcalls

package main

func afterPick()     {}
func beforeAttempt() {}
func afterAnswer()   {}
