package plan

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// Append appends p to dst as compact JSON with the fields in the order of the structs, and returns the extended slice.
// Every field is written, so that a config dump shows what is in force; empty lists are written as [].
// What Parse returned is written so that Parse returns the same again. A number that JSON cannot express is written as
// null, and bytes that are not UTF-8 as U+FFFD.
func Append(dst []byte, p *Plan) []byte {
	dst = append(dst, `{"version":`...)
	dst = strconv.AppendInt(dst, int64(p.Version), 10)
	dst = appendString(append(dst, `,"revision":`...), p.Revision)
	dst = appendString(append(dst, `,"destination":`...), p.Destination)
	dst = appendString(append(dst, `,"failureMode":`...), p.FailureMode)
	dst = appendString(append(dst, `,"parity":`...), p.Parity)

	dst = appendString(append(dst, `,"agent":{"cluster":`...), p.Agent.Cluster)
	dst = appendInt(dst, `,"pollTimeoutMs":`, p.Agent.PollTimeoutMs)
	dst = appendInt(dst, `,"staleMs":`, p.Agent.StaleMs)
	dst = appendInt(dst, `,"scrapeMs":`, p.Agent.ScrapeMs)
	dst = appendInt(dst, `,"maxAgeMs":`, p.Agent.MaxAgeMs)

	dst = appendInt(dst, `},"bounds":{"endpoints":`, p.Bounds.Endpoints)
	dst = appendInt(dst, `,"indexBlocks":`, p.Bounds.IndexBlocks)
	dst = appendInt(dst, `,"sessions":`, p.Bounds.Sessions)

	dst = strconv.AppendBool(append(dst, `},"prefix":{"autoTune":`...), p.Prefix.AutoTune)
	dst = appendInt(dst, `,"blockSizeTokens":`, p.Prefix.BlockSizeTokens)
	dst = appendInt(dst, `,"maxPrefixBlocks":`, p.Prefix.MaxPrefixBlocks)
	dst = appendInt(dst, `,"maxPrefixTokens":`, p.Prefix.MaxPrefixTokens)
	dst = appendInt(dst, `,"lruCapacityPerServer":`, p.Prefix.LRUCapacityPerServer)

	dst = appendList(append(dst, `},"plugins":`...), p.Plugins, appendPlugin)
	dst = appendList(append(dst, `,"profiles":`...), p.Profiles, appendProfile)
	dst = appendString(append(dst, `,"profileHandler":`...), p.ProfileHandler)
	dst = appendList(append(dst, `,"endpoints":`...), p.Endpoints, appendEndpoint)

	dst = appendList(append(dst, `,"objectives":`...), p.Objectives, appendObjective)
	dst = appendList(append(dst, `,"explain":{"networks":`...), p.Explain.Networks, appendString)
	dst = strconv.AppendBool(append(dst, `},"log":{"chain":`...), p.Log.Chain)
	dst = appendString(append(dst, `},"sharing":{"mode":`...), p.Sharing.Mode)
	dst = appendInt(dst, `,"intervalUs":`, p.Sharing.IntervalUs)
	dst = appendInt(dst, `,"logBytes":`, p.Sharing.LogBytes)
	dst = appendString(append(dst, `},"attempts":{"retries":`...), p.Attempts.Retries)
	dst = appendInt(dst, `,"firstByteMs":`, p.Attempts.FirstByteMs)
	dst = appendList(append(dst, `},"inactive":`...), p.Inactive, appendInactive)
	return append(dst, '}')
}

func appendPlugin(dst []byte, p Plugin) []byte {
	dst = appendString(append(dst, `{"name":`...), p.Name)
	dst = appendString(append(dst, `,"type":`...), p.Type)
	dst = append(dst, `,"parameters":{`...)
	for i, v := range p.Parameters {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, v.Name), ':')
		switch v.Kind {
		case Bool:
			dst = strconv.AppendBool(dst, v.Num != 0)
		case String:
			dst = appendString(dst, v.Str)
		default:
			dst = appendFloat(dst, v.Num)
		}
	}
	return append(dst, "}}"...)
}

func appendProfile(dst []byte, p Profile) []byte {
	dst = appendString(append(dst, `{"name":`...), p.Name)
	dst = appendList(append(dst, `,"filters":`...), p.Filters, appendString)
	dst = appendList(append(dst, `,"scorers":`...), p.Scorers, appendScorer)
	dst = appendString(append(dst, `,"picker":`...), p.Picker)
	return append(dst, '}')
}

func appendScorer(dst []byte, s Scorer) []byte {
	dst = appendString(append(dst, `{"plugin":`...), s.Plugin)
	dst = appendFloat(append(dst, `,"weight":`...), s.Weight)
	return append(dst, '}')
}

func appendEndpoint(dst []byte, e Endpoint) []byte {
	dst = appendString(append(dst, `{"name":`...), e.Name)
	dst = appendString(append(dst, `,"address":`...), e.Address)
	dst = appendList(append(dst, `,"labels":`...), e.Labels, appendLabel)
	return append(dst, '}')
}

func appendLabel(dst []byte, l Label) []byte {
	dst = appendString(append(dst, `{"key":`...), l.Key)
	dst = appendString(append(dst, `,"value":`...), l.Value)
	return append(dst, '}')
}

func appendObjective(dst []byte, o Objective) []byte {
	dst = appendString(append(dst, `{"name":`...), o.Name)
	dst = appendInt(dst, `,"priority":`, o.Priority)
	return append(dst, '}')
}

func appendInactive(dst []byte, i Inactive) []byte {
	dst = appendString(append(dst, `{"name":`...), i.Name)
	dst = appendString(append(dst, `,"type":`...), i.Type)
	return append(dst, '}')
}

func appendList[T any](dst []byte, list []T, element func([]byte, T) []byte) []byte {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(dst, v)
	}
	return append(dst, ']')
}

func appendInt(dst []byte, field string, v int) []byte {
	return strconv.AppendInt(append(dst, field...), int64(v), 10)
}

// appendFloat writes the shortest text that reads back as v, without exponent for numbers that people write.
func appendFloat(dst []byte, v float64) []byte {
	if v-v != 0 { // NaN or infinite
		return append(dst, "null"...)
	}
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, 64)
}

func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range s { // bad UTF-8 gives U+FFFD
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = utf8.AppendRune(dst, c)
		}
	}
	return append(dst, '"')
}
