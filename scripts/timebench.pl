#!/usr/bin/perl
# timebench.pl - krunctl time beside hyperfine, in turns, on the same commands (`make time-bench`).
#
#	perl scripts/timebench.pl BIN-DIRECTORY [PAIRS]
#
# It prints the time of the whole call for 10 and 200 runs, the overhead of a run (what is not in
# it, with 200 runs), and in how many pairs the difference of the means lies within the 95 %
# interval of both together.
use strict;
use warnings;
use JSON::PP;
use List::Util qw(sum);
use Time::HiRes qw(time);

my ($bin, $pairs) = (@ARGV, 20);
defined $bin or die "usage: timebench.pl BIN-DIRECTORY [PAIRS]\n";
my $file = "/tmp/timebench.$$.json";

# call runs a tool and returns the seconds of the call and the times of its runs.
sub call {
	my ($tool, $runs, @options) = @_;
	my @argv = $tool eq 'hyperfine'
		? ('hyperfine', '-r', $runs, @options, '--export-json', $file)
		: ("$bin/krunctl", 'time', '-r', $runs, @options, '--json');
	my $began = time;
	my $out = '';
	local $_;
	open my $from, '-|', "@{[map { s/'/'\\''/gr =~ s/^|$/'/gr } @argv]} 2>/dev/null" or die $!;
	$out .= $_ while <$from>;
	close $from or die "@argv: failed\n";
	my $took = time - $began;
	if ($tool eq 'hyperfine') {
		open my $in, '<', $file or die "$file: $!\n";
		$out = do { local $/; <$in> };
		unlink $file;
	}
	my $answer = decode_json($out);
	return ($took, ($answer->{results} || $answer->{subjects})->[0]{times});
}

sub mean { sum(@_) / @_ }
sub error { my $m = mean(@_); sqrt(sum(map { ($_ - $m)**2 } @_) / (@_ - 1) / @_) }
sub median { my @s = sort { $a <=> $b } @_; ($s[int($#s / 2)] + $s[int(@s / 2)]) / 2 }

my @tools = ('hyperfine', 'krunctl time');
open my $load, '<', '/proc/loadavg' or die $!;
print "load at the start: ", (split ' ', <$load>)[0], "\n";
my $command = 'sleep 0.005';
printf "%-30s%14s%14s\n", $command, @tools;
for my $runs (10, 200) {
	for my $options ([], ['-N']) {
		my (%calls, %overhead);
		for my $i (1 .. ($runs == 10 ? 10 : 3)) {
			for my $tool ($i % 2 ? @tools : reverse @tools) {
				my ($took, $times) = call($tool, $runs, @$options, $command);
				push @{ $calls{$tool} }, $took;
				push @{ $overhead{$tool} }, ($took - sum(@$times)) / $runs;
			}
		}
		my $what = "$runs runs" . (@$options ? ", -N" : "");
		printf "%-30s%12.3f s%12.3f s\n", "$what: whole call", map { median(@{ $calls{$_} }) } @tools;
		printf "%-30s%11.2f ms%11.2f ms\n", "$what: overhead per run",
			map { 1e3 * median(@{ $overhead{$_} }) } @tools;
	}
}
my $agree = 0;
for my $i (1 .. $pairs) {
	my @sides = map { (call($_, 40, '-N', 'sleep 0.01'))[1] } $i % 2 ? @tools : reverse @tools;
	my $difference = mean(@{ $sides[0] }) - mean(@{ $sides[1] });
	my $error = sqrt(error(@{ $sides[0] })**2 + error(@{ $sides[1] })**2);
	$agree++ if abs($difference) <= 1.96 * $error;
}
print "the means of 40 runs of sleep 0.01 agree within their intervals in $agree of $pairs pairs\n";
