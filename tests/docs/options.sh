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

# help_options [COMMAND]
help_options()
{
	"$fastpath" "$@" --help | sed -En 's/^ {2,6}(-[^ ,]+(, -[^ ,]+)*).*/\1/p' | one_a_line
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
	options=$(help_options "$@")
	check "$name: the page has the options of --help" \
		same --help "$options" "the page" "$(page_options "$@")"
	if command -v bash >/dev/null; then
		check "$name: the completion has the options of --help" \
			same --help "$options" "the completion" "$(completion_options "$@")"
	else
		skip "$name: the completion has the options of --help" "bash is not installed"
	fi
}

check_options btrfs-fastpath
for command in $(commands); do
	check_options "$command" "$command"
done
finish
