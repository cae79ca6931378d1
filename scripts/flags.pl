#!/usr/bin/perl
# Counts the options of a program's commands, as their help texts list them, prints a table, and
# fails if there are more than a person can oversee: perl scripts/flags.pl MOST PROGRAM
use strict;
use warnings;

my ($most, $program) = @ARGV;
my ($commands, $sum) = (0, 0);

# help returns the help text of a command.
sub help {
    open(my $out, '-|', $program, @_, '--help') or die "$program: $!\n";
    return join '', <$out>;
}

# count counts the options of a command and of those below it.
sub count {
    my $text = help(@_);
    my ($options) = $text =~ /^Flags:\n((?:.+\n)*)/m;
    my @names = grep { $_ ne 'help' } ($options // '') =~ /^ +(?:-\w, )?--([\w-]+)/mg;
    $commands++;
    $sum += @names;
    printf "%3d  %-15s %s\n", scalar @names, "@_", join ' ', @names;
    my ($below) = $text =~ /^Available Commands:\n((?:.+\n)*)/m;
    count(@_, $_) for ($below // '') =~ /^  (\w[\w-]*)/mg;
}

my $all = help();
count($_) for $all =~ /^  ([a-z]+) +[A-Z]/mg;
die "$program lists no commands\n" if !$commands;
printf "%3d  options of %d commands\n", $sum, $commands;
die "at most $most options: take some away, or move them into the configuration\n" if $sum > $most;
