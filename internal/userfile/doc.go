// Package userfile opens and writes the files that a user names on krunctl's command line.
//
// [Open] reads regular files, and whatever a program that starts krunctl has opened for it:
// /dev/stdin and /dev/fd/N. It refuses every other FIFO, device and socket, and never waits for
// one.
//
// [Write] treats what is there as cp and the shell do. A regular file is replaced at once when all
// was written, or stays as it was; it keeps its mode and its owner. A symbolic link stays, and the
// file that it leads to is replaced. A character device or a FIFO is written to, and never
// replaced.
//
// It is not for krund's own files: those are package durable's, which follows no link. Start
// reading at Write.
package userfile
