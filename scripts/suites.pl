#!/usr/bin/perl
# suites.pl KRUNCTL SUITE: a table in Markdown of the experiment SUITE.krun: the class of each key, the
# median of krund's times, of the suite's own, and of the difference between the two of an iteration.
use strict;
use warnings;
use IO::Uncompress::Gunzip qw(gunzip);
use JSON::PP;

my ($krunctl, $suite) = @ARGV;
my (%wall, %own, %cost, %class, %failed, %short);

sub median {
    my @v = sort { $a <=> $b } @_;
    return @v % 2 ? $v[ $#v / 2 ] : ($v[ $#v / 2 ] + $v[ @v / 2 ]) / 2;
}

sub seconds {
    my $ns = shift;
    for ([1e9, 's'], [1e6, 'ms'], [1e3, 'µs']) {
        return sprintf('%.3g %s', $ns / $_->[0], $_->[1]) if abs($ns) >= $_->[0];
    }
    return sprintf('%.0f ns', $ns);
}

for my $file (glob "$suite.krun/results/*.json.gz") {
    gunzip($file => \my $text) or die "$file cannot be read";
    my $r = decode_json($text);
    my ($name) = $r->{key} =~ /^([^:]+:[^:]+)/;
    if ($r->{outcome} ne 'completed') {
        my ($why) = ($r->{reasons}[0] // '') =~ /(?:cannot run here: |the limit )(.*)/;
        $failed{$name} = $why // $r->{reasons}[0];
        $failed{$name} =~ s/;.*//s;
        next;
    }
    my ($column) = grep { $_->{name} eq 'suite_time' } @{ $r->{columns} };
    for my $i (0 .. $#{ $r->{wall_ns} }) {
        push @{ $wall{$name} }, $r->{wall_ns}[$i];
        push @{ $own{$name} },  $column->{values}[$i];
        push @{ $cost{$name} }, $r->{wall_ns}[$i] - $column->{values}[$i];
    }
    $short{$name} = @{ $r->{wall_ns} };
}
open my $analysis, '-|', $krunctl, 'analyze', '--format', 'json', "$suite.krun" or die "$krunctl: $!";
my $doc = decode_json(join '', <$analysis>);
for my $p (@{ $doc->{pairs} }) {
    my ($name) = $p->{key} =~ /^([^:]+:[^:]+)/;
    $class{$name} = $p->{classification};
}
print "### $suite\n\n",
    "| benchmark | VM | class | krund | the suite | difference |\n|---|---|---|---|---|---|\n";
for my $name (sort keys %wall) {
    my ($benchmark, $vm) = split /:/, $name;
    my @medians = map { seconds(median(@{ $_->{$name} })) } \%wall, \%own, \%cost;
    print join(' | ', "| $benchmark", $vm, $class{$name} // '', @medians), " |\n";
}
my %why;
push @{ $why{ $failed{$_} } }, $_ for grep { !$wall{$_} } sort keys %failed;
print "\nNot run:\n\n" if %why;
print "- ", join(', ', @{ $why{$_} }), ": $_\n" for sort keys %why;
print "\n";
