package discovery

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseFile(t *testing.T) {
	tests := []struct {
		name, doc string
		want      []Endpoint
		err       string
	}{
		{
			name: "yaml",
			doc: `
endpoints:
- {name: a, address: 10.0.0.1, port: "8000"}
- {name: a, namespace: prod, address: "::FFFF:10.0.0.2", port: "1", labels: {role: decode}}
- {name: b, address: "2001:DB8::1", port: "65535"}
`,
			want: []Endpoint{
				{Namespace: "default", Name: "a", Address: netip.MustParseAddrPort("10.0.0.1:8000")},
				{Namespace: "prod", Name: "a", Address: netip.MustParseAddrPort("10.0.0.2:1"), Labels: map[string]string{"role": "decode"}},
				{Namespace: "default", Name: "b", Address: netip.MustParseAddrPort("[2001:db8::1]:65535")},
			},
		},
		{name: "json", doc: `{"endpoints":[{"name":"a","address":"10.0.0.1","port":"8000"}]}`, want: []Endpoint{
			{Namespace: "default", Name: "a", Address: netip.MustParseAddrPort("10.0.0.1:8000")},
		}},
		{name: "no endpoints", doc: "endpoints: []", want: []Endpoint{}},
		{name: "empty document", doc: "", err: "endpoints: is missing; write a list of {name, address, port}"},
		{name: "not a list", doc: "endpoints: {}", err: "line 1: endpoints: must be a list, not an object"},
		{
			name: "every field wrong",
			doc: `
endpoints:
- {address: host.example, port: 8000, weight: 1}
- {name: b, address: "fe80::1%eth0", port: "0"}
- {name: c, address: 0.0.0.0, port: "65536"}
- {name: "", port: "+80"}
- x
-
`,
			err: `line 3: endpoints[0].weight: unknown field "weight"; known here: name, namespace, address, port, labels
line 3: endpoints[0].name: is missing
line 3: endpoints[0].address: "host.example" is not an IPv4 or IPv6 address; host names are not resolved
line 3: endpoints[0].port: must be a string, not the number 8000; put it in quotes
line 4: endpoints[1].address: "fe80::1%eth0" has a zone, which Envoy's ORIGINAL_DST cluster must not see
line 4: endpoints[1].port: "0" is not a port; write "1" to "65535"
line 5: endpoints[2].address: "0.0.0.0" is no address of a single host
line 5: endpoints[2].port: "65536" is not a port; write "1" to "65535"
line 6: endpoints[3].name: is missing
line 6: endpoints[3].address: is missing
line 6: endpoints[3].port: "+80" is not a port; write "1" to "65535"
line 7: endpoints[4]: must be an object, not the string "x"
line 8: endpoints[5]: is empty`,
		},
		{name: "broadcast", doc: `endpoints: [{name: a, address: 255.255.255.255, port: "80"}]`, err: `line 1: endpoints[0].address: "255.255.255.255" is no address of a single host`},
		{name: "unspecified, as IPv6", doc: `endpoints: [{name: a, address: "::ffff:0.0.0.0", port: "80"}]`, err: `line 1: endpoints[0].address: "::ffff:0.0.0.0" is no address of a single host`},
		{
			name: "control character in a name",
			doc:  `endpoints: [{name: "a\tb", address: 10.0.0.1, port: "80"}]`,
			err:  `line 1: endpoints[0].name: "default/a\tb" has control characters or, with its namespace, more than 65535 bytes`,
		},
		{
			name: "duplicates",
			doc: `
endpoints:
- {name: a, address: 10.0.0.1, port: "8000"}
- {name: a, address: 10.0.0.2, port: "8000"}
- {name: c, address: "::ffff:10.0.0.1", port: "8000"}
`,
			err: `line 4: endpoints[1].name: default/a is already taken by endpoints[0]
line 5: endpoints[2].address: 10.0.0.1:8000 is already taken by endpoints[0]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseFile([]byte(tt.doc))
			if tt.err != "" {
				if err == nil {
					t.Fatal("no error")
				}
				if d := cmp.Diff(tt.err, err.Error()); d != "" {
					t.Error(d)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got, cmpopts.EquateComparable(netip.AddrPort{})); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte("endpoints:\n- {name: a, address: 10.0.0.1, port: \"8000\", labels: {a: b}}\n"))
	f.Add([]byte(`{"endpoints":[{"name":"a","address":"::1","port":"1"}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		eps, err := ParseFile(doc)
		if err != nil {
			return
		}
		for i := range eps {
			if err := eps[i].Validate(); err != nil {
				t.Errorf("endpoint %d was accepted: %+v: %v", i, eps[i], err)
			}
		}
	})
}
