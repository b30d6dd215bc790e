#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC1091,SC2154 # what common.sh and make set
# Every option that --help shows is in the manual page and in the completion, and the other way round.
. "$top_srcdir/tests/docs/common.sh"

# Options a line, "=" behind those that need an argument, from "-o, --option=ARGUMENT".
one_a_line()
{
	tr -d ' ' | tr ',' '\n' | sed 's/\[=.*//; s/=.*/=/' | sort -u
}

# help_options HELP [COMMAND]: HELP is the option for it.
help_options()
{
	help=$1
	shift
	"$fastpath" "$@" "$help" | sed -En 's/^ {2,6}(-[^ ,]+(, -[^ ,]+)*).*/\1/p' | one_a_line
}

# page_options [COMMAND]: from the terms of its lists of options.
page_options()
{
	sed -En 's/^\.B (.*)/\1/p' "$(built_page "$(page_of "$@")")" |
		sed -E 's/\\f[A-Z]//g; s/\\-/-/g' | grep '^-' | one_a_line
}

# completion_options [COMMAND]
completion_options()
{
	bash -c '. "$0" && _btrfs_fastpath_options "$@"' "$completions/btrfs-fastpath" "$@" |
		tr -s '[:space:]' '\n' | sort -u
}

# check_options NAME [COMMAND]
check_options()
{
	name=$1
	shift
	options=$(help_options --help=all "$@")
	check "$name: the page has the options of --help" \
		same --help "$options" "the page" "$(page_options "$@")"
	if command -v bash >/dev/null; then
		check "$name: the completion has the options of --help" \
			same --help "$options" "the completion" "$(completion_options "$@")"
	else
		skip "$name: the completion has the options of --help" "bash is not installed"
	fi
}

# Options that set the form of sizes.
size_options()
{
	printf '%s\n' --raw --human-readable --iec --si --kbytes --mbytes --gbytes --tbytes
}

# prints_sizes COMMAND: by its page, which is written by hand
prints_sizes()
{
	grep -qxF '.. include:: size-options.rst' "$(page_of "$1")"
}

# common_options COMMAND: those of the program that COMMAND has, too.
common_options()
{
	if prints_sizes "$1"; then
		help_options --help
	else
		words_without "$(help_options --help)" "$(size_options)"
	fi
}

# own_and_common COMMAND: the options of both parts, which would show up twice if they were in both.
own_and_common()
{
	{
		help_options --help "$1"
		common_options "$1"
	} | sort
}

# one_line COMMAND: the common options are in one line of --help, with --raw only where sizes are printed.
one_line()
{
	pattern='^ Also (--format=text\|json(\|[a-z]+)*, )?(--raw, )?-q, -v: --help=all$'
	line=$("$fastpath" "$1" --help | grep -E "$pattern") || return 1
	case $line in
	*--raw*) prints_sizes "$1" ;;
	*) ! prints_sizes "$1" ;;
	esac
}

# formats_complete COMMAND: the completion offers the formats of --help=all.
formats_complete()
{
	formats=$("$fastpath" "$1" --help=all | sed -n 's/^ *--format=\([a-z|]*\)\( .*\)*$/\1/p' | tr '|' '\n')
	same --help "$formats" "the completion" "$(bash -c '. "$0" && _btrfs_fastpath_formats "$@"' \
		"$completions/btrfs-fastpath" "$1" | tr -s '[:space:]' '\n')"
}

# icinga_options COMMAND: the options that its definition for Icinga uses
icinga_options()
{
	awk -v command="\"$1\"" '/^object/ { own = 0 } /command = / { own = index($0, command) } own' \
		"$top_srcdir/packaging/icinga/icinga.conf" | grep -oE '"--?[a-z][a-z-]*"' | tr -d '"'
}

check_options btrfs-fastpath
check "the sizes of this test are options" \
	[ -z "$(words_without "$(size_options)" "$(help_options --help)")" ]
for command in $(commands); do
	check_options "$command" "$command"
	options=$(help_options --help=all "$command")
	check "$command: --help has its own options, --help=all the common ones, too" \
		[ "$(own_and_common "$command")" = "$options" ]
	check "$command: --help has the options that Icinga uses" \
		[ -z "$(words_without "$(icinga_options "$command")" "$(echo "$options" | tr -d =)")" ]
	check "$command: --help has one line for the common options" one_line "$command"
	if command -v bash >/dev/null; then
		check "$command: the completion has the formats of --help" formats_complete "$command"
	else
		skip "$command: the completion has the formats of --help" "bash is not installed"
	fi
done
finish
