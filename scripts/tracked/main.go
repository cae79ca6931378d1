// Command tracked reports files that do not belong in the repository: those over 1 MiB, and what a
// compiler made. It is given the names of all tracked files; make lint does that.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

const largest = 1 << 20 // bytes

// compiled are the first bytes of what compilers make.
var compiled = []struct{ start, what string }{
	{"\x7fELF", "an ELF program or object"},
	{"!<arch>\n", "an archive of objects"},
	{"MZ", "a Windows program"},
	{"\xfe\xed\xfa\xce", "a Mach-O program"}, {"\xce\xfa\xed\xfe", "a Mach-O program"},
	{"\xfe\xed\xfa\xcf", "a Mach-O program"}, {"\xcf\xfa\xed\xfe", "a Mach-O program"},
	{"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"},
	{"\x00asm", "a WebAssembly module"},
	{"\x1bLJ", "LuaJIT bytecode"},
}

func main() {
	found, err := run(os.Stdout, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "tracked:", err)
	}
	if found > 0 || err != nil {
		os.Exit(1)
	}
}

// run reports the files that do not belong and returns how many there are. It passes over links and
// files that are removed but not yet committed.
func run(w io.Writer, names []string) (found int, err error) {
	for _, name := range names {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		} else if err != nil {
			return found, err
		}
		what, err := unwanted(name, info.Size())
		if err != nil {
			return found, err
		}
		if what != "" {
			fmt.Fprintf(w, "%s: %s: remove it with git rm --cached, and name it in .gitignore\n", name, what)
			found++
		}
	}
	return found, nil
}

// unwanted returns why a file does not belong in the repository, or "".
func unwanted(name string, size int64) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	start := make([]byte, 16)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	for _, c := range compiled {
		if bytes.HasPrefix(start[:n], []byte(c.start)) {
			return c.what, nil
		}
	}
	if strings.HasSuffix(name, ".pyc") { // its first bytes change with each release of Python
		return "compiled Python", nil
	}
	if size > largest {
		return fmt.Sprintf("%d bytes, at most %d", size, largest), nil
	}
	return "", nil
}
