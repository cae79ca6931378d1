# Reports files that do not belong in the repository: those over 1 MiB, and what a compiler made. The
# names of all tracked files are read from standard input, each with a zero byte behind it.
use strict;
my %compiled = (
	"\x7fELF" => "an ELF program or object", "!<arch>\n" => "an archive of objects", "MZ" => "a Windows program",
	"\xfe\xed\xfa\xce" => "a Mach-O program", "\xce\xfa\xed\xfe" => "a Mach-O program",
	"\xfe\xed\xfa\xcf" => "a Mach-O program", "\xcf\xfa\xed\xfe" => "a Mach-O program",
	"\xca\xfe\xba\xbe" => "a Java class or a Mach-O program", "\x00asm" => "a WebAssembly module",
	"\x1bLJ" => "LuaJIT bytecode",
);
my $found;
$/ = "\0";
while (my $name = <STDIN>) {
	chomp $name;
	next if -l $name or !-f $name;    # removed, but not yet committed
	open my $file, '<:raw', $name or die "tracked: $name: $!\n";
	read $file, my $start, 16;
	my ($what) = map { $compiled{$_} } grep { index($start, $_) == 0 } keys %compiled;
	$what = "compiled Python" if $name =~ /\.pyc$/;    # its first bytes change with each release of Python
	$what ||= (-s $file) . " bytes, at most 1048576" if -s $file > 1048576;
	next unless $what;
	print "$name: $what: remove it with git rm --cached, and name it in .gitignore\n";
	$found = 1;
}
exit($found ? 1 : 0);
