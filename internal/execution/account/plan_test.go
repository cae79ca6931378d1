package account

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

const (
	rootLine = "root:x:0:0:root:/root:/bin/bash\n"
	ownLine  = "krun:x:1003:1003:krund benchmark account:/home/krun:/usr/sbin/nologin\n"
)

func TestParsePasswd(t *testing.T) {
	text := rootLine + "# comment:x:1:1:::\n+::::::\n-bad:x:1:1:::\n\nshort:x:1:1\nlong:x:1:1:a:b:c:d\n" +
		"number:x:x:1:::\n" +
		"minus:x:-1:1:::\nodd:x:7:8:a, b,:/home/öä:\n" + strings.TrimSuffix(ownLine, "\n")
	want := []user{
		{"root", 0, 0, "root", "/root"}, {"odd", 7, 8, "a, b,", "/home/öä"},
		{"krun", 1003, 1003, accountComment, accountHome},
	}
	got := parsePasswd([]byte(text))
	must.Be(t, reflect.DeepEqual(got, want), "got", got)
}

func TestParseGroups(t *testing.T) {
	got := parseGroups([]byte("root:x:0:\n+:::\nshort:x:1\nusers:x:100:anna,bert\nodd:x:y:\nkrun:!:1003:"))
	want := []groupEntry{{"root", 0, nil}, {"users", 100, []string{"anna", "bert"}}, {"krun", 1003, nil}}
	must.Be(t, reflect.DeepEqual(got, want), got)
}

// FuzzPasswd holds that whatever the file says, only an account that carries the mark, is alone
// with its number and is not root's would be removed.
func FuzzPasswd(f *testing.F) {
	f.Add([]byte(rootLine+ownLine), []byte("krun:x:1003:\n"))
	f.Add([]byte(ownLine+"krun:x:0:0:krund benchmark account:/home/krun:\n"), []byte("krun:x:1003:a,b\n"))
	f.Fuzz(func(t *testing.T, passwd, group []byte) {
		users, groups := parsePasswd(passwd), parseGroups(group)
		old, remove, err := planRemove(users)
		must.Need(t, err != nil || (old == nil) == (len(remove) == 0), old, "with", remove)
		must.Need(t, old == nil || old.uid > 0 && old.comment == accountComment && old.home == accountHome,
			"would remove", old)
		for _, goos := range []string{"linux", "openbsd"} {
			add, err := planAdd(goos, users, groups, 0)
			must.Need(t, err != nil || add[len(add)-1] == accountName, add)
		}
	})
}

func TestPlanRemove(t *testing.T) {
	for name, c := range map[string]struct {
		passwd string
		uid    int    // of the account to be removed; 0 for none
		reason string // of the refusal; "" for none
	}{
		"none": {rootLine, 0, ""},
		"own":  {rootLine + ownLine, 1003, ""},
		"a person": {rootLine + "krun:x:1000:1000:Karl Run:/home/krun:/bin/bash\n", 0,
			`comment is "Karl Run"`},
		"no comment":     {"krun:x:1000:1000::/home/krun:/bin/bash\n", 0, `comment is ""`},
		"marked as part": {"krun:x:1000:1000:krund benchmark account,,,:/home/krun:\n", 0, "comment is"},
		"root":           {"krun:x:0:0:krund benchmark account:/home/krun:\n", 0, "that of root"},
		"other home":     {"krun:x:1000:1000:krund benchmark account:/:\n", 0, "home is /"},
		"shared number": {ownLine + "anna:x:1003:1003::/home/anna:\n", 0,
			"account anna has the same user number"},
		"twice": {ownLine + "krun:x:1003:1003:Karl Run:/home/krun:\n", 0, "same user number"},
	} {
		old, command, err := planRemove(parsePasswd([]byte(c.passwd)))
		switch {
		case c.reason != "":
			must.Be(t, errors.Is(err, ErrForeign) && strings.Contains(err.Error(), c.reason) && old == nil,
				name, old, err)
		case err != nil || (old != nil) != (c.uid != 0):
			t.Errorf("%s: got %+v, %v", name, old, err)
		case old != nil && (old.uid != c.uid || !slices.Equal(command, []string{"userdel", "krun"})):
			t.Errorf("%s: got %+v, %q", name, old, command)
		}
	}
}

func TestPlanAdd(t *testing.T) {
	const linux = "useradd -c krund benchmark account -d /home/krun -M -s /usr/sbin/nologin -K " +
		"SUB_UID_COUNT=0 -K SUB_GID_COUNT=0"
	const openbsd = "useradd -c krund benchmark account -d /home/krun -s /sbin/nologin"
	for name, c := range map[string]struct {
		goos, group string
		uid         int
		want        string // "" for a refusal
	}{
		"linux, new":               {"linux", "root:x:0:\n", 0, linux + " -U krun"},
		"linux, number kept":       {"linux", "", 1003, linux + " -U -u 1003 krun"},
		"linux, group left over":   {"linux", "krun:x:1003:\n", 1003, linux + " -g krun -u 1003 krun"},
		"openbsd, new":             {"openbsd", "", 0, openbsd + " -g =uid krun"},
		"openbsd, number kept":     {"openbsd", "", 1003, openbsd + " -g =uid -u 1003 krun"},
		"openbsd, group left":      {"openbsd", "krun:*:1003:\n", 0, openbsd + " -g krun krun"},
		"group with members":       {"linux", "krun:x:1003:anna\n", 0, ""},
		"group of the system":      {"linux", "krun:x:27:\n", 0, ""},
		"group of an account":      {"linux", "krun:x:1000:\n", 0, ""},
		"group of an account, bsd": {"openbsd", "krun:*:1000:\n", 0, ""},
	} {
		users := parsePasswd([]byte(rootLine + "anna:x:1000:1000::/home/anna:/bin/sh\n"))
		got, err := planAdd(c.goos, users, parseGroups([]byte(c.group)), c.uid)
		must.Be(t, strings.Join(got, " ") == c.want && (c.want == "") == errors.Is(err, ErrForeign), name,
			got, err)
	}
}

func TestKillArgs(t *testing.T) {
	id, ok := killArgs([]string{killName, killFlag + "1000:100"})
	must.Be(t, ok && id == (userID{1000, 100}), id, ok)
	for _, args := range [][]string{
		{killName, killFlag + "0:0"}, {killName, killFlag + "-1:0"}, {killName, killFlag + ":"},
		{killName, killFlag + "1000"}, {killName, killFlag + "1000:"}, {killName, killFlag + "1000:x"},
		{killName, killFlag + "1000:-1"}, {killName, killFlag + "1000:100", "x"},
		{"krund", killFlag + "1000:100"}, {killName, "run"}, nil,
	} {
		id, ok := killArgs(args)
		must.Be(t, !ok, args, "would kill as", id)
	}
}

func TestParseObjects(t *testing.T) {
	const table = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  " +
		"cgid\n      4660          7   666                  4096   203     0      0  1000  1000  1001  " +
		"1000\n         0      32768  1600                   524   203     0      2     0     0     0     0\n"
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
