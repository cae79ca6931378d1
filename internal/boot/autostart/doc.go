// Package autostart decides when this machine boots an experiment: the systemd unit that starts
// krund at every boot, the boot loader's entry that krund asks for, and the requests to hold an
// experiment so that a person can log in.
//
// The unit (Installer) is an instance of the template krund@.service, named after the experiment,
// with a drop-in that names its configuration:
//
//	/etc/systemd/system/krund@NAME.service.d/experiment.conf
//	/etc/systemd/system/multi-user.target.wants/krund@NAME.service
//	/etc/systemd/system/bench.target.wants/krund@NAME.service
//
// krunctl enables it. krund disables it when nothing is outstanding, so that the next boot is an
// ordinary one. Installing starts and stops nothing.
//
// A boot entry (Entry, grub.go, systemdboot.go) is optional. The boot loader boots it once and
// forgets the request: GRUB clears next_entry in its environment block before it starts the entry;
// systemd-boot and the firmware delete the variable LoaderEntryOneShot. If krund dies, it makes no
// further request, and the next boot is an ordinary one. The boot loaders' own tools make the
// request, and krund reads it back. A machine that would not forget the request is refused, because
// it would boot the experiment forever. The entry has the kernel argument krund.entry, by which
// krund recognizes such a boot (OtherBoot).
//
// There are three ways to hold an experiment (FindHold):
//
//   - the file hold in the experiment's directory: `krunctl hold` and `krunctl resume`;
//   - the file /etc/krund/hold: for all experiments of the machine, also while its disk is mounted
//     elsewhere;
//   - the kernel argument krund.hold, typed into the boot loader's menu: for that boot only.
//
// Start reading at Installer.Install, Entry.Ask and FindHold.
package autostart
