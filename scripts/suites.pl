#!/usr/bin/perl
# suites.pl KRUNCTL SUITE...: tables in Markdown of the experiments SUITE.krun, as docs/suites-study.md
# has them. First, for each suite and VM: the keys that ran, what krund's time of an iteration is longer
# than the suite's own (median of the keys' medians, and relative to the iteration), the classes, and the
# remarks of loop_share. Then for each key its class and the medians.
use strict;
use warnings;
use IO::Uncompress::Gunzip qw(gunzip);
use JSON::PP;

my ($krunctl, @suites) = @ARGV;

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

sub percent {
    my $p = 100 * shift;
    return sprintf(abs($p) >= 10 ? '%.0f %%' : '%.2g %%', $p);
}

# measured returns what a suite's records and krunctl analyze say, by "benchmark:vm".
sub measured {
    my $suite = shift;
    my (%is, %failed);
    for my $file (glob "$suite.krun/results/*.json.gz") {
        gunzip($file => \my $text) or die "$file cannot be read";
        my $r = decode_json($text);
        my ($name) = $r->{key} =~ /^([^:]+:[^:]+)/;
        if ($r->{outcome} ne 'completed') {
            my ($why) = ($r->{reasons}[0] // '') =~ /(?:cannot run here: |the limit )(.*)/;
            $failed{$name} = $why // $r->{reasons}[0] // $r->{outcome};
            $failed{$name} =~ s/;.*//s;
            next;
        }
        my ($column) = grep { $_->{name} eq 'suite_time' } @{ $r->{columns} };
        for my $i (0 .. $#{ $r->{wall_ns} }) {
            push @{ $is{$name}{wall} }, $r->{wall_ns}[$i];
            push @{ $is{$name}{own} },  $column->{values}[$i];
            push @{ $is{$name}{cost} }, $r->{wall_ns}[$i] - $column->{values}[$i];
        }
    }
    delete @failed{ keys %is };
    open my $analysis, '-|', $krunctl, 'analyze', '--format', 'json', "$suite.krun" or die "$krunctl: $!";
    for my $p (@{ decode_json(join '', <$analysis>)->{pairs} }) {
        my ($name) = $p->{key} =~ /^([^:]+:[^:]+)/;
        next if !$is{$name};
        $is{$name}{class}   = $p->{classification};
        $is{$name}{remarks} = grep { $_->{code} eq 'loop_share' } @{ $p->{warnings} // [] };
    }
    for (values %is) {
        my $k = $_;
        $k->{$_} = median(@{ $k->{$_} }) for qw(wall own cost);
    }
    return (\%is, \%failed);
}

my (@summary, @tables);
for my $suite (@suites) {
    my ($is, $failed) = measured($suite);
    my %vm;
    push @{ $vm{ (split /:/)[1] } }, $_ for sort keys %$is, keys %$failed;
    for my $vm (sort keys %vm) {
        my @ran = grep { $is->{$_} } @{ $vm{$vm} } or next;
        my %relative = map { $_ => $is->{$_}{cost} / $is->{$_}{wall} } @ran;
        my ($largest) = sort { $relative{$b} <=> $relative{$a} } @ran;
        my (%classes, $remarks);
        $classes{ $is->{$_}{class} || 'none' }++, $remarks += $is->{$_}{remarks} // 0 for @ran;
        push @summary, sprintf "| %s | %s | %s | %s | %s | %s, %s | %s | %d |\n", $suite, $vm,
            @ran == @{ $vm{$vm} } ? scalar @ran : @ran . ' of ' . @{ $vm{$vm} },
            seconds(median(map { $is->{$_}{cost} } @ran)), percent(median(values %relative)),
            percent($relative{$largest}), $largest =~ s/:.*//r,
            join(', ', map { "$_ $classes{$_}" } sort { $classes{$b} <=> $classes{$a} } keys %classes), $remarks;
    }
    my $table = "## $suite\n\n| benchmark | VM | class | krund | the suite | difference |\n" .
        "|---|---|---|---|---|---|\n";
    for my $name (sort keys %$is) {
        my ($benchmark, $vm) = split /:/, $name;
        my %k = %{ $is->{$name} };
        $table .= join(' | ', "| $benchmark", $vm, $k{class} // '', map { seconds($_) } @k{qw(wall own cost)}) .
            " |\n";
    }
    my %why;
    push @{ $why{ $failed->{$_} } }, $_ for sort keys %$failed;
    $table .= "\nNot run:\n\n" if %why;
    $table .= '- ' . join(', ', @{ $why{$_} }) . ": $_\n" for sort keys %why;
    push @tables, $table;
}
print "| suite | VM | keys | difference, median | relative to the iteration, median | largest | class | remarks |\n",
    "|---|---|---|---|---|---|---|---|\n", @summary, "\n", join "\n", @tables;
