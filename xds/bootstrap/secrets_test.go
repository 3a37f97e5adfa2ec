package bootstrap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v2"

	"github.com/zerohop/zerohop/shared/plan"
)

// TestSecretsAreFollowed checks that bootstrap and files agree: each secret that a cluster refers to is one that a file has
// under that name, and the bootstrap names no file of a secret itself.
func TestSecretsAreFollowed(t *testing.T) {
	o := variants()["followed"]
	o.Upstream.CertFile, o.Upstream.KeyFile = "client/tls.crt", "client/tls.key"
	files, err := Secrets(o)
	if err != nil {
		t.Fatal(err)
	}
	secrets := make(map[string]tree) // by name and path
	for _, f := range files {
		var v any
		if err := yaml.UnmarshalStrict(f.Text, &v); err != nil {
			t.Fatalf("%v\n%s", err, f.Text)
		}
		s := tree{t, v}.at("resources/0")
		secrets[s.at("name").v.(string)+" "+o.SecretsDir+"/"+f.Name] = s
	}
	used := make(map[string]bool)
	n := render(t, o)
	var walk func(v any)
	walk = func(v any) {
		switch x := v.(type) {
		case map[any]any:
			if sds, ok := x["sds_config"]; ok {
				source := tree{t, sds}.at("path_config_source")
				used[x["name"].(string)+" "+source.at("path").v.(string)] = true
				if got := source.at("watched_directory/path").v; got != o.SecretsDir {
					t.Errorf("%v waits for renames in %v", x["name"], got)
				}
			}
			for _, e := range x {
				walk(e)
			}
		case []any:
			for _, e := range x {
				walk(e)
			}
		}
	}
	walk(n.v)
	for name := range used {
		if _, ok := secrets[name]; !ok {
			t.Errorf("no file has %s", name)
		}
	}
	if len(used) != 5 || len(secrets) != 5 {
		t.Errorf("used: %v, in files: %d", used, len(secrets))
	}
	san := n.at("static_resources/clusters/zerohop_xds/transport_socket/typed_config/common_tls_context/combined_validation_context/" +
		"default_validation_context/match_typed_subject_alt_names/0/matcher/exact")
	if san.v != "agent" {
		t.Errorf("the agent's name is %v", san.v)
	}
	got := []any{
		secrets["zerohop_agent_token /etc/secrets: #/agent_token.yaml"].at("generic_secret/secret/filename").v,
		secrets["zerohop_agent_ca /etc/secrets: #/agent_ca.yaml"].at("validation_context/trusted_ca/filename").v,
		secrets["zerohop_agent_ca /etc/secrets: #/agent_ca.yaml"].at("validation_context/watched_directory/path").v,
		secrets["zerohop_upstream_cert /etc/secrets: #/upstream_cert.yaml"].at("tls_certificate/private_key/filename").v,
		secrets["zerohop_upstream_cert /etc/secrets: #/upstream_cert.yaml"].at("tls_certificate/watched_directory/path").v,
	}
	if d := cmp.Diff([]any{"./token", "./ca: #.pem", ".", "client/tls.key", "client"}, got); d != "" {
		t.Error(d)
	}
	text, err := Render(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{o.Agent.TokenFile, o.Agent.TLS.CAFile, o.Upstream.CertFile} {
		if strings.Contains(string(text), "filename: \""+name) {
			t.Errorf("the bootstrap names %s", name)
		}
	}
}

func TestNoSecrets(t *testing.T) {
	if files, err := Secrets(testOptions(plan.DestinationHeader)); err != nil || files != nil {
		t.Errorf("%v, %v", files, err)
	}
}

// TestServerNameOfClients checks that a default without a name is still an object.
func TestServerNameOfClients(t *testing.T) {
	o := variants()["edge"]
	o.SecretsDir = "s"
	ctx := render(t, o).at("static_resources/clusters/zerohop_destination/transport_socket/typed_config/common_tls_context/combined_validation_context")
	if m, ok := ctx.at("default_validation_context").v.(map[any]any); !ok || len(m) != 0 {
		t.Errorf("%v", ctx.v)
	}
}
