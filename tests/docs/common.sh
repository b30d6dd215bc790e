# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2034 # variables for the tests
# What the documentation tests stand on: TAP, and what there is to be documented.

: "${top_srcdir:=.}" "${top_builddir:=.}"
fastpath=$top_builddir/btrfs-fastpath
completions=$top_srcdir/bash-completion
export LC_ALL=C.UTF-8
unset ARGP_HELP_FMT

test_count=0

# check DESCRIPTION COMMAND...: passes if COMMAND does; what it prints explains why not.
check()
{
	description=$1
	shift
	test_count=$((test_count + 1))
	if output=$("$@" 2>&1); then
		echo "ok $test_count - $description"
		return
	fi
	echo "not ok $test_count - $description"
	[ -z "$output" ] || printf '%s\n' "$output" | sed 's/^/#   /'
}

# skip DESCRIPTION REASON
skip()
{
	test_count=$((test_count + 1))
	echo "ok $test_count - $1 # SKIP $2"
}

finish()
{
	echo "1..$test_count"
}

# same WHAT WORDS WHERE WORDS: the same words, in any order, each on a line of its own.
same()
{
	if [ -z "$2" ]; then
		echo "$1 has none"
		return 1
	fi
	missing=$(words_without "$2" "$4")
	extra=$(words_without "$4" "$2")
	[ -z "$missing" ] || printf '%s\n' "not in $3:" "$missing"
	[ -z "$extra" ] || printf '%s\n' "not in $1:" "$extra"
	[ -z "$missing$extra" ]
}

# words_without WORDS OTHERS: those of WORDS that are not among OTHERS.
words_without()
{
	printf '%s\n' "$1" | grep -vxF -e "$2"
}

# The program's commands, as its help lists them.
commands()
{
	"$fastpath" --help | sed -n '/^Commands:/,/^$/ s/^  \([a-z][a-z-]*\) .*/\1/p' | grep -vx help
}

# page_of COMMAND: the source of its manual page, without a command that of the program.
page_of()
{
	# one page for both
	[ "${1-}" != disable ] || set -- enable
	page=$top_srcdir/man/btrfs-fastpath${1:+-$1}.8.rst
	[ -e "$page" ] || page=$top_srcdir/man/btrfs-inspect-$1.8.rst
	echo "$page"
}

# built_page SOURCE: the page made from it, in the build or as the tarball has it.
built_page()
{
	name=$(basename "$1" .rst)
	if [ -e "$top_builddir/man/$name" ]; then
		echo "$top_builddir/man/$name"
	else
		echo "$top_srcdir/man/$name"
	fi
}
