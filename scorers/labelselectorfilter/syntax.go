package labelselectorfilter

import "strings"

// Limits of Kubernetes.
const (
	maxName   = 63  // of a label's name and of its value
	maxPrefix = 253 // of the part before the slash
)

// checkKey returns what is wrong with the key of a label: an optional DNS name with a slash, and a name.
func checkKey(key string) string {
	name := key
	if prefix, rest, ok := strings.Cut(key, "/"); ok {
		name = rest
		if !isDomain(prefix) {
			return "the part of a label key before the slash is a DNS name in lower case of at most 253 characters"
		}
	}
	if !isName(name) {
		return "a label key is at most 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
	}
	return ""
}

// checkValue returns what is wrong with the value of a label.
func checkValue(value string) string {
	if value != "" && !isName(value) {
		return "a label value is at most 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
	}
	return ""
}

func isName(s string) bool {
	if s == "" || len(s) > maxName || !isAlnum(s[0]) || !isAlnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// isDomain reports whether s is a DNS subdomain.
func isDomain(s string) bool {
	if s == "" || len(s) > maxPrefix {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || part[0] == '-' || part[len(part)-1] == '-' {
			return false
		}
		for i := range len(part) {
			if c := part[i]; c != '-' && (!isAlnum(c) || 'A' <= c && c <= 'Z') {
				return false
			}
		}
	}
	return true
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
