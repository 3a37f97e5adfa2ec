package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

func TestSchema(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"schema"}, &out, &errs); code != 0 || errs.Len() != 0 {
		t.Fatalf("exit code %d, stderr %s", code, errs.String())
	}
	if !json.Valid(out.Bytes()) {
		t.Error("it is no JSON")
	}
	committed, err := os.ReadFile("../../../config/endpointpickerconfig.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(committed, out.Bytes()) {
		t.Error("config/endpointpickerconfig.schema.json is another")
	}
}
