package control

import (
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

// TestWeight: krund's own groups get the largest weight, those of others keep theirs, and the
// weights are restored.
func TestWeight(t *testing.T) {
	files := texts{
		"/proc/self/cgroup": "1:name=systemd:/x\n0::/system.slice/krund@a.service\n",

		groupRoot + "/system.slice/cpu.weight":             "100\n",
		groupRoot + "/system.slice/krund@a.service/memory": "",
		groupRoot + "/user.slice/cpu.weight":               "100\n",
	}
	f := check(t, required(weight), files)
	must.Be(t, f.Status == setting.StatusWillSet && f.Found == "100 /system.slice", f)
	files[groupRoot+"/system.slice/krund@a.service/cpu.weight"] = "10000\n"
	f = check(t, required(weight), files)
	must.Be(t, f.Status == setting.StatusWillSet &&
		f.Found == "10000 /system.slice/krund@a.service, 100 /system.slice", f)
	files["/proc/self/cgroup"] = "0::/\n"
	must.Equal(t, check(t, required(weight), files).Found, "none", "krund in the root group: found")
	files[groupRoot+"/cpu.weight"] = "100" // in a container, whose topmost group is not the machine's
	files["/run/systemd/container"] = "docker"
	f = check(t, required(weight), files)
	must.Be(t, f.Found == "100 /" && f.Status == setting.StatusWillSet && f.Detail != "", f)
	f = check(t, required(weight), texts{"/proc/self/cgroup": "4:cpu,cpuacct:/user/a\n0::/user\n",
		groupRoot + "/cpu/user/a/cpu.shares": "1024"})
	must.Be(t, f.Found == "cpu.shares 1024" && f.Status == setting.StatusCannot, "version 1", f)
	for name, want := range map[string]bool{"/system.slice/cpu.weight": true, "/cpu.weight": true,
		"/a/../../x/cpu.weight": false, "/a/cpu.max": false} {
		must.Equal(t, isWeight(groupRoot+name), want, name)
	}
}
