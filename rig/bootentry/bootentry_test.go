// Package bootentry runs an experiment with its own boot entry in a real GRUB, which the machine's
// firmware starts from its own disk.
package bootentry

import (
	"strings"
	"testing"

	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

const (
	name      = "entry"
	config    = rig.ExperimentHome + "/" + name + ".toml"
	directory = rig.ExperimentHome + "/" + name + ".krun"
	unit      = "krund@" + name + ".service"

	// arguments of both entries; panics restart the machine, as docs/lab-machine.md requires.
	arguments = rig.PanicReboots + " " + rig.Tickless

	own = "krund.entry"
)

var text = "[experiment]\nexecutions = 3\n\n[boot]\nentry = \"krund\"\n" + rig.Limits("10m", "256MiB") +
	rig.Python(1) + "waits = { parameter = 1 }\n" + rig.WarnOnly

// mount mounts the partition of the boot disk, because there is no udev.
const mount = `[Unit]
DefaultDependencies=no
Before=local-fs.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/bash -c 'modprobe nvme; until [ -b ` + rig.BootPartition +
	` ]; do sleep 0.05; done; mount -t ext4 ` + rig.BootPartition + ` /boot || :'
`

// setUp performs the steps of a user who installs Debian with GRUB and then follows
// docs/lab-machine.md. GRUB prints to the console, which is a serial line here.
const setUp = `set -e
mkfs.ext4 -q -F ` + rig.BootPartition + `
mount ` + rig.BootPartition + ` /mnt
cp -a /boot/. /mnt/
umount /mnt
mount ` + rig.BootPartition + ` /boot
grub-install --target=i386-pc ` + rig.BootDisk + `
cat >/etc/default/grub <<'END'
GRUB_DEFAULT=0
GRUB_TIMEOUT=0
GRUB_DISTRIBUTOR=Debian
GRUB_DISABLE_OS_PROBER=true
GRUB_TERMINAL=serial
GRUB_SERIAL_COMMAND="serial --unit=0 --speed=115200"
GRUB_CMDLINE_LINUX="ARGUMENTS"
END
update-grub
version=$(uname -r)
cat >/boot/grub/custom.cfg <<END
menuentry "krund" --id krund {
    search --no-floppy --fs-uuid --set=root $(blkid -s UUID -o value ` + rig.BootPartition + `)
    linux  /vmlinuz-$version root=/dev/vda ARGUMENTS krund.entry systemd.unit=bench.target
    initrd /initrd.img-$version
}
END
sync`

// bootable returns a machine, which is off, whose GRUB has two entries: the usual one and the one
// for experiments.
func bootable(t *testing.T) *rig.Machine {
	t.Helper()
	var files rig.Payload
	files.Experiment(name, text)
	files.Waiting()
	files.Unit("rig-boot.service", mount, "local-fs.target")
	m := rig.KrundUp(t, rig.Options{Payload: &files, BootDisk: true})
	m.Sh(strings.ReplaceAll(setUp, "ARGUMENTS", rig.KernelArguments(arguments)))
	m.Shutdown()
	m.BootFromDisk()
	return m
}

// boot starts the machine and reports whether the boot used the entry of the experiment.
func boot(m *rig.Machine) bool {
	m.PowerOn()
	m.WaitUp()
	return strings.Contains(m.Sh("cat /proc/cmdline"), own)
}

// asked reports whether the experiment's entry is requested from GRUB.
func asked(m *rig.Machine) bool {
	return strings.Contains(m.Sh("until mountpoint -q /boot; do sleep 0.05; done; grub-editenv "+
		"/boot/grub/grubenv list"), "next_entry=krund")
}

// leftAlone requires a boot in which krund has done nothing, and has logged that.
func leftAlone(t *testing.T, m *rig.Machine, why string) {
	t.Helper()
	ended := m.RunToEnd(unit, 0)
	must.Equal(t, ended.Result, "success", "krund ended with", ended, "want a success")
	if log := m.Log(name); !strings.Contains(log, "nothing is run") || !strings.Contains(log, why) {
		t.Errorf("the journal does not say %q:\n%s", why, log)
	}
}

// TestExperimentRunsOnlyInBootsThatItAskedFor, with a real GRUB. After a crash during an execution
// the experiment continues by itself. A krund that cannot start, a hold and the end of the
// experiment make the next boot an ordinary one.
func TestExperimentRunsOnlyInBootsThatItAskedFor(t *testing.T) {
	rig.Long(t, "ten boots")
	m := bootable(t)

	must.Need(t, !boot(m) && !asked(m), "the first boot is not an ordinary one")
	out := m.Sh("krunctl enable " + config)
	must.Need(t, strings.Contains(out, "boot loader's entry krund") && asked(m), "GRUB was not asked",
		string(out))
	m.Send("systemctl reboot")
	m.WaitReboot()
	m.PowerOn() // creates the schedule and restarts
	m.WaitReboot()

	// The machine crashes during the first execution: the next boot nevertheless uses the
	// experiment's entry.
	must.Need(t, boot(m), "the boot for the first execution is an ordinary one")
	m.WaitConsole(rig.Running)
	must.Be(t, asked(m), "a crash now would end the experiment")
	m.Send("echo c >/proc/sysrq-trigger")
	m.WaitReboot()
	must.Need(t, boot(m), "the boot after a crash is an ordinary one")
	m.WaitConsole(rig.Running)
	m.Send(rig.GoOn)
	m.WaitReboot()

	// Held during the second execution: it finishes, and the following boots are ordinary until the
	// user resumes the experiment.
	must.Need(t, boot(m), "the boot for the second execution is an ordinary one")
	m.WaitConsole(rig.Running)
	m.Sh("krunctl hold " + config)
	m.Send(rig.GoOn)
	m.WaitReboot()
	must.Be(t, !boot(m), "a held experiment has got a boot of its own")
	leftAlone(t, m, "krunctl resume")
	out = m.Sh("krunctl resume " + config)
	must.Be(t, strings.Contains(out, "boot loader's entry krund") && asked(m),
		"krunctl resume has not asked GRUB", out)

	// A krund that cannot even start requests no further boot, so no user is locked out.
	m.Sh("mv " + rig.InstalledKrund + " /root/krund && printf '#!/bin/sh\\nexit 1\\n' >" +
		rig.InstalledKrund + " && chmod 755 " + rig.InstalledKrund + " && sync")
	m.Send("systemctl reboot")
	m.WaitReboot()
	must.Need(t, boot(m), "the boot that was asked for is an ordinary one")
	m.WaitRunning()
	m.Send("systemctl reboot")
	m.WaitReboot()
	must.Be(t, !boot(m) && !asked(m), "a dead krund has got another boot of its own")
	m.Sh("mv /root/krund " + rig.InstalledKrund + " && sync")
	m.Send("systemctl reboot")
	m.WaitReboot()
	must.Be(t, !boot(m), "this boot was not requested")
	leftAlone(t, m, "krunctl enable "+config)

	// It continues to its end when it is enabled again.
	m.Sh("krunctl enable " + config)
	m.Send("systemctl reboot")
	m.WaitReboot()
	must.Need(t, boot(m), "the boot for the last execution is an ordinary one")
	m.WaitConsole(rig.Running)
	m.Sh(rig.GoOn)
	ended := m.RunToEnd(unit, 0)
	must.Need(t, ended.Result == "success", "krund ended with", ended)
	if state, _ := m.Try("systemctl is-enabled " + unit); state != "disabled" || asked(m) {
		t.Errorf("after the end the unit is %s, GRUB asked %t; want disabled, and an ordinary boot", state,
			asked(m))
	}
	m.Send("systemctl reboot")
	m.WaitReboot()
	must.Be(t, !boot(m), "the boot after the end is not an ordinary one")
	m.Shutdown()

	e := m.Experiment(directory)
	e.Check(t)
	n := e.Count(schedule.Completed)
	must.Be(t, n == 3 && len(e.Records) == 4, n, "completed", len(e.Records),
		"records; want 3, and one more of the attempt that the crash ended")
}
