package filter

// What the imitated host of warm.go has: a plan, without its destination mode, and a snapshot. A test holds them against the
// encoders.
const (
	warmPlanHead = `{"version":1,"revision":"","destination":"`
	warmPlanTail = `","failureMode":"FailClose","parity":"","agent":{"cluster":"a","pollTimeoutMs":1000,"staleMs":2000,"scrapeMs":0,"maxAgeMs":0},"bounds":{"endpoints":64,"indexBlocks":4096,"sessions":0},"prefix":{"autoTune":true,"blockSizeTokens":64,"maxPrefixBlocks":0,"maxPrefixTokens":131072,"lruCapacityPerServer":1024},"plugins":[{"name":"q","type":"queue-scorer","parameters":{}},{"name":"k","type":"kv-cache-utilization-scorer","parameters":{}},{"name":"p","type":"prefix-cache-scorer","parameters":{}},{"name":"m","type":"max-score-picker","parameters":{}},{"name":"s","type":"single-profile-handler","parameters":{}}],"profiles":[{"name":"default","filters":[],"scorers":[{"plugin":"q","weight":2},{"plugin":"k","weight":2},{"plugin":"p","weight":3}],"picker":"m"}],"profileHandler":"s","endpoints":[{"name":"n/a","address":"10.0.0.1:80","labels":[]},{"name":"n/b","address":"10.0.0.2:80","labels":[]},{"name":"n/c","address":"10.0.0.3:80","labels":[]},{"name":"n/d","address":"10.0.0.4:80","labels":[]}],"objectives":[],"explain":{"networks":[]},"log":{"chain":true},"sharing":{"mode":"","intervalUs":0,"logBytes":0},"attempts":{"retries":"","firstByteMs":0},"inactive":[]}`
	warmSnapshot = "ZHSN\x01\x00\x00\x00\xff\r\xa6og\\/\xc9`\x01\x00\x00(\x00@\x00\x04\x00\x00\x008\x00\x00\x00\x01\x00\x00" +
		"\x00\x00\x00\x00\x00\u00cc`\x17q\x03|#\x00\x00\x00\x00\v\x00\x00\x00\v\x00\x03\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x80>\x10\x00\x00\x00\x00\x04\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xba\x8c\xe0\x83\x90\x9b\xc6s\x0e\x00\x00\x00\x19" +
		"\x00\x00\x00\v\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00" +
		"\x00\x00\x00\x80>\x10\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xa1" +
		"ev~\x97\xfc\xfa\xdd\x1c\x00\x00\x00'\x00\x00\x00\v\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00" +
		"\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x80>\x10\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00a\tO5\xa3\xa4\xc3\xde*\x00\x00\x005\x00\x00\x00\v\x00\x03\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00\x01\x00\x00\x00\x00\x00\x80>\x10\x00\x00\x00" +
		"\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0010.0.0.3:80n/c10.0.0.2:80n/b10.0.0.1:" +
		"80n/a10.0.0.4:80n/d"
)
