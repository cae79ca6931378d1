#!/bin/bash
# Tests whether a clone works on a fresh machine: creates a minimal Debian 12 with only Go, git,
# make and sudo. There a user runs `sudo make setup`, `make demo`, what it and the README tell to
# type next, and root runs `make test` in a clone of HEAD; then builds the Debian package and
# installs it in another, even smaller one. It needs root and network, and takes some minutes.
#
#   scripts/fresh-test.sh [DIRECTORY]
#
# The directory, by default build/fresh, is recreated, and its roots are removed at the end.
#
# Exit status: 0 if everything passed, or if it cannot run here (the reason is on stderr; with
# KRUND_FRESH_REQUIRED=1 the status is 1 then); 1 if something failed.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
out=$(realpath -m "${1:-build/fresh}")
skip() {
	echo "fresh-test: SKIPPED: $*" >&2
	[ "${KRUND_FRESH_REQUIRED:-0}" != 1 ] || exit 1
	exit 0
}
[ "$(uname -s)" = Linux ] || skip "it requires Linux"
[ "$(id -u)" = 0 ] || skip "it needs root; run: sudo $0"
for tool in mmdebstrap unshare git; do
	command -v $tool >/dev/null ||
		skip "$tool is not installed; run: apt-get install mmdebstrap util-linux git"
done
goroot=$(go env GOROOT) || skip "Go is not installed here; the fresh machine gets a copy of its directory"
unshare --mount true 2>/dev/null || skip "this machine does not allow mount namespaces"

start=$SECONDS
say() { printf '\n== fresh-test, %4d s: %s\n' $((SECONDS - start)) "$*"; }

# root NAME PACKAGE...: a minimal Debian 12 in $out/NAME
root() {
	local name=$1
	shift
	mmdebstrap --quiet --variant=minbase --include="$(echo "$@" | tr ' ' ,)" bookworm "$out/$name" \
		>"$out/$name.log" 2>&1
}

# inside NAME COMMAND: runs the command there as root, in its own mount namespace
inside() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --fork --pid bash -c '
		mount --make-rprivate / && mount -t proc proc "$0/proc" &&
		mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" &&
		mount -t tmpfs tmpfs "$0/run" && cp -L /etc/resolv.conf "$0/etc/resolv.conf" &&
		# the certificates that this network needs
		if [ -d "$0/etc/ssl/certs" ] && [ -e /etc/ssl/certs/ca-certificates.crt ]; then
			cp -L /etc/ssl/certs/ca-certificates.crt "$0/etc/ssl/certs/"
		fi &&
		path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin &&
		exec chroot "$0" env -i HOME=/root LC_ALL=C.UTF-8 PATH="$path" \
			GOPROXY="$2" GOSUMDB="$3" GOTOOLCHAIN=local bash -c "$1"' \
		"$out/$1" "$2" "$(go env GOPROXY)" "$(go env GOSUMDB)"
}

rm -rf --one-file-system "$out"
mkdir -p "$out"
trap 'rm -rf --one-file-system "$out/builder" "$out/user"' EXIT
say "a minimal Debian 12 with git, make and sudo"
root builder git make sudo ca-certificates ||
	skip "cannot create a Debian 12 (is there network?): $(tail -n 1 "$out/builder.log")"
mkdir -p "$out/builder/usr/local"
cp -a "$goroot" "$out/builder/usr/local/go"
cloned=$SECONDS
git clone -q --no-local . "$out/builder/root/krund"
chroot "$out/builder" useradd -m -s /bin/bash dev
echo "dev ALL=(ALL) NOPASSWD: ALL" >"$out/builder/etc/sudoers.d/dev" # its secure_path has no Go
cp -a "$out/builder/root/krund" "$out/builder/home/dev/krund"
chroot "$out/builder" chown -R dev:dev /home/dev/krund

# as_dev COMMAND: as a user with Go in the PATH, as go.dev says
as_dev() {
	printf 'cd ~/krund || exit\n%s\n' "$1" >"$out/builder/home/dev/commands"
	inside builder "su -w GOPROXY,GOSUMDB,GOTOOLCHAIN -l dev \
		-c 'PATH=\$PATH:/usr/local/go/bin exec bash -eu -o pipefail ~/commands'"
}

say "make setup"
as_dev 'make setup && exit 1 # it names what is missing
sudo make setup
make setup'
say "make demo, and what it tells to type"
as_dev 'make demo | tee ~/demo.log
sed -n "s/^  \(build.bin.*\)#.*/\1/p; s/^  \(build.bin[^#]*\)$/\1/p" ~/demo.log >~/next
test "$(wc -l <~/next)" = 4 # run names two, the demo two
bash -eux ~/next'
say "the commands of docs/first-steps.md, in C and in Python"
as_dev 'export PATH=$PWD/build/bin:$PATH
sed -n "/^\`\`\`sh/,/^\`\`\`/{/^\`\`\`/!p}" docs/first-steps.md >~/steps
cd
PS4="+ \$((SECONDS + '"$((SECONDS - cloned))"')) s after git clone: " bash -ex ~/steps'
say "the commands of README.md"
as_dev 'sed -n "/^## Your own experiment/,/^## On a lab/{/^cp /p;/^build.bin/p}" README.md >~/own
test "$(wc -l <~/own)" = 12
while read -r line; do
	echo "\$ $line"
	eval "$line" </dev/null >~/out 2>&1 || [ $? = 3 ] || # two executions cannot be judged
		[[ $line == *" compare "* ]] || { cat ~/out; exit 1; }
done <~/own'
for target in test release; do
	say "make $target"
	inside builder "cd && cd krund && make $target"
done

say "a minimal Debian 12 for the package"
root user libc6
cp "$out"/builder/root/krund/build/release/krund_*.deb "$out/user/root/krund.deb"
inside user '
	set -e
	dpkg -i /root/krund.deb
	krund --version
	krunctl version
	krunctl check || [ $? = 1 ] # this machine need not be fit to measure
	cp /usr/share/doc/krund/examples/demo.toml /root && krunctl check --plan /root/demo.toml
	dpkg --purge krund
	test ! -e /usr/bin/krund -a ! -e /etc/krund'
say "all passed"
