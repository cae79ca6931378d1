package account

import (
	"slices"
	"testing"

	"krund/rig/must"
)

func TestParseObjects(t *testing.T) {
	const table = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  " +
		"cuid  cgid\n" +
		"      4660          7   666                  4096   203     0      0  1000  1000  1001  1000\n" +
		"         0      32768  1600                   524   203     0      2     0     0     0     0\n"
	list, err := parseObjects([]byte(table), "shmid")
	want := []object{{7, 1000, 1001}, {32768, 0, 0}}
	must.Be(t, err == nil && slices.Equal(list, want), list, err, "want", want)
	for name, text := range map[string]string{
		"no such column": "key semid uid cuid\n1 2 3 4\n", "short line": "shmid uid cuid\n1 2\n",
		"no number": "shmid uid cuid\n1 2 x\n",
		"negative":  "shmid uid cuid\n1 -2 3\n",
	} {
		list, err := parseObjects([]byte(text), "shmid")
		must.Fail(t, err, errObjects, name, list)
	}
	list, err = parseObjects(nil, "shmid")
	must.Be(t, len(list) == 0 && err == nil, "no table", list, err)
}

func FuzzParseObjects(f *testing.F) {
	f.Add([]byte("shmid uid cuid\n1 2 3\n"))
	f.Add([]byte(" key shmid uid cuid\n\n1 2 3 4 5\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseObjects(text, "shmid")
		for _, o := range list {
			must.Be(t, err != nil || o.id >= 0 && o.uid >= 0 && o.maker >= 0, o)
		}
	})
}
