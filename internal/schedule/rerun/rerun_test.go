package rerun

import (
	"errors"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/directory"
	"krund/rig/must"
)

func TestList(t *testing.T) {
	fsys := crashfs.New("/x")
	d := must.Get(directory.Create(fsys, "/x/test.krun"))(t)
	slots, err := Pending(d)
	must.Be(t, slots == nil && err == nil, "without a request", slots, "error", err)
	must.Do(t, Ask(d, []int{7, 2, 7}))
	if slots, err := Pending(d); err != nil || len(slots) != 2 || slots[0] != 2 || slots[1] != 7 {
		t.Errorf("slots %v, error %v, want 2 and 7", slots, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"krund-reruns=1\nslot=0\nslot=12\nend\n", "krund-reruns=1\nend\n", "",
		"krund-reruns=1\nslot=2\nslot=2\nend\n", "krund-reruns=2\nslot=1\nend\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		slots, err := parse(text)
		if err != nil {
			must.Be(t, errors.Is(err, ErrDamaged) && slots == nil, slots, err)
			return
		}
		for i, slot := range slots {
			must.Be(t, slot >= 0 && (i <= 0 || slots[i-1] < slot), "slots", slots)
		}
	})
}
