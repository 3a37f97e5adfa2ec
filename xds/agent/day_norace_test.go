//go:build !race

package agent

const dayHours = 24
