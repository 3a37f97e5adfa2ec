package bootstrap

import (
	"errors"
	"path"
	"path/filepath"
	"strings"
)

// Beginnings of the names of secrets.
const (
	secretAgent    = "zerohop_agent"
	secretUpstream = "zerohop_upstream"
)

// SecretFile is a file by which Envoy finds a secret and follows its changes (SDS from the file system).
type SecretFile struct {
	Name string // within Options.SecretsDir
	Text []byte // names the files of the secret, and has none of it
}

// Secrets returns the files that belong to the bootstrap if Options.SecretsDir is set; otherwise none.
func Secrets(o Options) ([]SecretFile, error) {
	if err := errors.Join(o.check()...); err != nil {
		return nil, err
	}
	var out []SecretFile
	for _, s := range o.secrets() {
		text, err := execute("secret", s)
		if err != nil {
			return nil, err
		}
		out = append(out, SecretFile{Name: s.file(), Text: text})
	}
	return out, nil
}

// secret is one secret as the templates see it.
type secret struct {
	Name      string
	Dir       string   // of the file that names Files
	Files     []string // token, CA, or certificate and key
	Token, CA bool
}

func (s secret) file() string { return strings.TrimPrefix(s.Name, "zerohop_") + ".yaml" }

// Path returns where Envoy finds the file.
func (s secret) Path() string { return s.Dir + "/" + s.file() }

// FilesDir returns the folder in which Envoy waits for renames.
func (s secret) FilesDir() string { return path.Dir(s.Files[0]) }

// secrets returns all secrets; none without a folder for them.
func (o *Options) secrets() []secret {
	if o.SecretsDir == "" {
		return nil
	}
	var out []secret
	add := func(t TLS, name string) {
		v := o.tlsValues(t, name)
		if t.CAFile != "" {
			out = append(out, v.CASecret)
		}
		if t.CertFile != "" {
			out = append(out, v.CertSecret)
		}
	}
	if o.Agent != nil {
		if o.Agent.TokenFile != "" {
			out = append(out, o.tokenSecret())
		}
		add(o.Agent.TLS, secretAgent)
	}
	add(o.Upstream, secretUpstream)
	return out
}

func (o *Options) secret(name string, files ...string) secret {
	s := secret{Name: name, Dir: inFolder(o.SecretsDir)}
	for _, f := range files {
		s.Files = append(s.Files, inFolder(f))
	}
	return s
}

func (o *Options) tokenSecret() secret {
	s := o.secret(secretAgent+"_token", o.Agent.TokenFile)
	s.Token = true
	return s
}

// inFolder returns a path that names its folder, without which Envoy cannot watch it.
func inFolder(name string) string {
	if name = filepath.ToSlash(name); !strings.Contains(name, "/") {
		return "./" + name
	}
	return name
}

// tlsValues are what the templates see of one kind of server.
type tlsValues struct {
	TLS
	SecretsDir           string
	CASecret, CertSecret secret
}

func (o *Options) tlsValues(t TLS, name string) tlsValues {
	v := tlsValues{
		TLS: t, SecretsDir: o.SecretsDir,
		CASecret: o.secret(name+"_ca", t.CAFile), CertSecret: o.secret(name+"_cert", t.CertFile, t.KeyFile),
	}
	v.CASecret.CA = true
	return v
}
