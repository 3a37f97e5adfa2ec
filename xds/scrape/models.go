package scrape

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/shared/snapshot"
)

// Models are the models that an endpoint serves, as XXH64 of their names, ascending, each once. An adapter that the server
// lists is a model like any other.
type Models struct{ Hashes []uint64 }

// updateModels reads a list of models in OpenAI's format. On error the models are unchanged, as when there are too many: with
// a part of them requests for the others would be kept away.
func (l *loop) updateModels(page []byte) error {
	var list struct {
		Data *[]struct {
			ID *string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(page, &list); err != nil {
		return errors.New("the list of models is not as OpenAI's") // the error would show what the server sent
	}
	if list.Data == nil {
		return errors.New("the list of models has no data")
	}
	if n := len(*list.Data); n > snapshot.MaxModels {
		return fmt.Errorf("the list has %d models, more than %d", n, snapshot.MaxModels)
	}
	found := make([]uint64, 0, len(*list.Data))
	for _, m := range *list.Data {
		if m.ID == nil || *m.ID == "" {
			return errors.New("a model of the list has no id")
		}
		found = append(found, xxhash.Sum64String(*m.ID))
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if old := l.sample.Models; old == nil || !slices.Equal(old.Hashes, found) {
		l.sample.Models = &Models{found}
	}
	return nil
}
