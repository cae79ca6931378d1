package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"krund/internal/machine/host"
)

// packages adds the number of installed packages and the hash of their names and versions, from the
// machine's package manager.
func (f Fingerprint) packages(ctx context.Context, h host.Host) {
	list, manager := installed(ctx, h)
	if len(list) == 0 {
		return
	}
	slices.Sort(list)
	f["packages"] = fmt.Sprintf("%s: %d, %s", manager, len(list),
		hashOf([]byte(strings.Join(list, "\n")+"\n")))
}

// installed returns "name version" of every installed package, in any order, and the package
// manager.
func installed(ctx context.Context, h host.Host) (list []string, manager string) {
	if text, err := h.Root.Read("/var/lib/dpkg/status"); err == nil {
		return parseDpkg(text), "dpkg"
	}
	if text, err := h.Root.Read("/lib/apk/db/installed"); err == nil {
		return parseApk(text), "apk"
	}
	if names := h.Root.List("/var/lib/pacman/local"); names != nil {
		return slices.DeleteFunc(names, func(n string) bool { return n == "ALPM_DB_VERSION" }), "pacman"
	}
	if names := h.Root.List("/var/db/pkg"); names != nil {
		return names, "pkg_add"
	}
	if h.Commands != nil && (h.Root.Exists("/var/lib/rpm") || h.Root.Exists("/usr/lib/sysimage/rpm")) {
		if out, err := h.Commands.Output(ctx, "rpm", "-qa", "--qf", `%{NAME} %{EVR} %{ARCH}\n`); err == nil {
			return splitLines(string(out)), "rpm"
		}
	}
	return nil, ""
}

// parseDpkg parses /var/lib/dpkg/status: paragraphs of "Name: value". Removed packages whose
// configuration files remain do not count.
func parseDpkg(text string) []string {
	var list []string
	var name, version, arch, status string
	for line := range strings.Lines(text + "\n\n") {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			if name != "" && strings.HasSuffix(status, " installed") {
				list = append(list, name+" "+version+" "+arch)
			}
			name, version, arch, status = "", "", "", ""
			continue
		}
		field, value, _ := strings.Cut(line, ": ")
		switch field {
		case "Package":
			name = value
		case "Version":
			version = value
		case "Architecture":
			arch = value
		case "Status":
			status = value
		}
	}
	return list
}

// parseApk parses Alpine's database: paragraphs with lines P:name and V:version.
func parseApk(text string) []string {
	var list []string
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if value, found := strings.CutPrefix(line, "P:"); found {
			name = value
		}
		if value, found := strings.CutPrefix(line, "V:"); found && name != "" {
			list = append(list, name+" "+value)
			name = ""
		}
		if line == "" {
			name = ""
		}
	}
	return list
}
