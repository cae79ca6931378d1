// Package bundle packs an experiment so that it can be run on another machine: its configuration,
// the directories of benchmarks and the programs and scripts that the configuration names by a path
// relative to itself.
//
// A bundle is a tar archive: manifest.json, then the files of the manifest, in the order of their
// paths, as tree/PATH. Equal contents give equal bytes, so a bundle is known by its SHA-256. The
// tree begins at the nearest directory that has everything in it; relative paths in the
// configuration therefore remain valid. What a configuration names by an absolute path, or by a
// bare name, is not copied: the manifest lists it, and it must exist on the machine.
//
// A bundle comes from another user, and root unpacks it: there are only regular files, their paths
// are checked, their number and size are bounded, their hashes are compared, and nothing that is
// unpacked is set-uid. What the configuration makes root do is judged by joined.Refused.
//
// Start reading at Collect, Write and Unpack.
package bundle
