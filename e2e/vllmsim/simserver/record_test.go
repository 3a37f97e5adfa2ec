package simserver

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestRecords(t *testing.T) {
	s := start(t, Config{Records: 2, Instant: true})
	post(t, s.URL()+"/first", "x")
	r, _ := http.NewRequest(http.MethodPost, s.URL()+pathChat+"?q=1", io.MultiReader(strings.NewReader("body")))
	r.Header.Set("x-custom", "yes")
	r.Trailer = http.Header{"X-Late": {"too"}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	post(t, s.URL()+"/sim/echo", "last")
	_, body := get(t, s.URL()+"/sim/requests")
	var got []Record
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 {
		t.Fatalf("%d records, want the last 2", len(got))
	}
	chat := got[0]
	if chat.Headers.Get("X-Custom") != "yes" || chat.Trailers.Get("X-Late") != "too" || chat.Path != pathChat+"?q=1" {
		t.Errorf("record = %+v", chat)
	}
	const sum = "230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5" // sha256 of "body"
	if chat.BodyLength != 4 || chat.BodySHA256 != sum {
		t.Errorf("body of %d bytes, sum %s", chat.BodyLength, chat.BodySHA256)
	}
}

func TestHTTP2(t *testing.T) {
	s := start(t, Config{})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: protocols}
	defer tr.CloseIdleConnections()
	prompt := strings.Repeat("x", 20<<20)
	resp, err := (&http.Client{Transport: tr}).Post(s.URL()+"/sim/echo", "", strings.NewReader(prompt))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var rec Record
	if err := json.NewDecoder(resp.Body).Decode(&rec); err != nil {
		t.Fatal(err)
	}
	if rec.Proto != "HTTP/2.0" || rec.BodyLength != len(prompt) {
		t.Errorf("%s with %d bytes, want HTTP/2.0 with %d", rec.Proto, rec.BodyLength, len(prompt))
	}
}
