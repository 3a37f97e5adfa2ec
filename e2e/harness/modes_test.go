package harness

import "testing"

func TestWithModes(t *testing.T) {
	const doc = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n"
	const own = "apiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\n"
	tests := []struct{ name, config, mode, failure, attempts, want string }{
		{"nothing asked for", doc, "", "", "", doc},
		{"no settings", doc, "list", "", "", doc + "\n---\n" + own + "destinationMode: list\n"},
		{"other settings", doc + "---\n" + own + "drainTimeout: 1s\n", "list", "FailOpen", "", doc + "---\n" + own + "failureMode: FailOpen\ndestinationMode: list\ndrainTimeout: 1s\n"},
		{"set already", doc + "---\n" + own + "destinationMode: header # why\n", "list", "", "", doc + "---\n" + own + "destinationMode: list\n"},
	}
	tests = append(tests, struct{ name, config, mode, failure, attempts, want string }{
		"attempts", doc, "", "", "{retries: unanswered}", doc + "\n---\n" + own + "attempts: {retries: unanswered}\n",
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{DestinationMode: tt.mode, FailureMode: tt.failure, Attempts: tt.attempts}
			if got := string(o.withModes([]byte(tt.config))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
