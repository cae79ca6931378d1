# Reports lines that are too wide in the files that it is given: code over 110 columns, comments and
# Markdown prose over 100, a tab counted as 4. Text that cannot be wrapped may be wider: raw strings
# of Go, single words (such as links), and in Markdown code blocks, tables, headings and images.
use strict;
use open qw(:std :utf8);
my ($wide, $raw, $fenced);
while (<>) {
	chomp;
	my $prose = $ARGV =~ /\.md$/;
	my $comment = $ARGV =~ /(Makefile|\.mk|\.sh)$/ ? /^\s*# / : m{^\s*(//(?!\t)|/\*|\* )};
	my $free = $raw || $fenced || m{^[\t */#]*(go:|\S*\s*$)};
	if ($prose) {
		$fenced = !$fenced if /^\s*```/;
		$free ||= $fenced || /^(\s*```|\||    |#|!\[)/;
	} elsif ($ARGV =~ /\.go$/ && !(!$raw && m{^\s*//})) {
		my $ticks = tr/`//;
		$free ||= $ticks;
		$raw = $ticks % 2 ? !$raw : $raw;
	}
	my $limit = $prose || $comment ? 100 : 110;
	my $columns = length() + 3 * tr/\t//;
	if ($columns > $limit && !$free) {
		print "$ARGV:$.: $columns columns, at most $limit\n";
		$wide = 1;
	}
} continue {
	if (eof) {
		close ARGV;
		$raw = $fenced = 0;
	}
}
exit($wide ? 1 : 0);
