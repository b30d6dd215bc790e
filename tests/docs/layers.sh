#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC1091,SC2154 # what common.sh and make set
# The rooms of lib/ and cmds/ include only what lies below them.
. "$top_srcdir/tests/docs/common.sh"

# includes FILE...: the headers of the tree that they include, FILE<tab>HEADER a line
includes()
{
	for file; do
		sed -n "s|^#include \"\\([^\"]*\\)\".*|${file#"$top_srcdir"/}	\\1|p" "$file"
	done | grep -v '	config\.h$'
}

# only DIRECTORY ALLOWED: fails with each include of DIRECTORY's files that ALLOWED, a regular expression, does not match
only()
{
	set -- "$2" "$top_srcdir/$1"/*.c "$top_srcdir/$1"/*.h
	allowed=$1
	shift
	files=$(for file; do [ ! -e "$file" ] || echo "$file"; done)
	[ -n "$files" ] || { echo "no files"; return 1; }
	# shellcheck disable=SC2086 # words
	found=$(includes $files)
	[ -n "$found" ] || { echo "nothing is included"; return 1; }
	! printf '%s\n' "$found" | grep -vE "	($allowed)\$"
}

features='sharing seek fsync send nocow'

ground='sys|path|num|text'
for room in sys path num text; do
	check "lib/$room knows no btrfs" only "lib/$room" "($ground)/[^/]*"
done
check "lib/fs knows no feature" only lib/fs "($ground|fs)/[^/]*"
for room in $features; do
	check "lib/$room knows no other feature" only "lib/$room" "($ground|fs|$room)/[^/]*"
done
check "lib/probe includes only lib" only lib/probe "($ground|fs|$(echo "$features" | tr ' ' '|')|probe)/[^/]*"
check "cmds/ui knows no command" only cmds/ui '[a-z]+/[^/]*'

# the commands, whose files are NAME.c and NAME-PART.c, .h
commands=$(sed -n 's/^int \([a-z_]*\)_run(.*/\1/p' "$top_srcdir/cmds/commands.h" | tr _ -)

# command_of FILE: the command that it belongs to, or nothing
command_of()
{
	name=$(basename "$1")
	for command in $commands; do
		case ${name%.[ch]} in
		"$command" | "$command"-*) echo "$command" ;;
		esac
	done
}

# no_other_command FILE: it includes rooms, and of cmds/ its own command's parts or what belongs to no command
no_other_command()
{
	own=$(command_of "$1")
	! includes "$1" | cut -f 2 | grep -v / | while read -r header; do
		other=$(command_of "$header")
		[ -z "$other" ] || [ "$other" = "$own" ] || echo "$header"
	done | grep .
}

# no_ring: no files include each other in a circle, where NAME.c and NAME.h are one
no_ring()
{
	edges=$(includes "$top_srcdir"/cmds/*.[ch] "$top_srcdir"/*/*/*.[ch] | grep -E '^(cmds|lib)/' |
		sed -E 's/^[a-z]+\///; s/\.[ch]\b//g' | awk '$1 != $2 { print $1, $2 }')
	[ "$(echo "$edges" | wc -l)" -gt 100 ] || { echo "nothing is included"; return 1; }
	echo "$edges" | tsort >/dev/null
}

# declared: commands write no value of their own into JSON and metrics, which fields do (ui/record.h)
declared()
{
	! grep -nE 'json_add_[a-z_]+\([^,]*,( "|$)|metrics_add|ui/table\.h' "$top_srcdir"/cmds/*.c |
		grep -vE 'json_add_(null|each_name)\('
}

check "no files include each other in a circle" no_ring
check "commands declare what they print" declared
[ -n "$commands" ] || check "there are commands" false
for file in "$top_srcdir"/cmds/*.[ch]; do
	check "${file#"$top_srcdir"/} knows no other command" no_other_command "$file"
done
finish
