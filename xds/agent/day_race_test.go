//go:build race

package agent

// dayHours are fewer than a day has: under the race detector an hour takes five times as long, and all that a day brings is in
// each of them.
const dayHours = 4
