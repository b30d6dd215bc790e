#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC1091,SC2154 # what common.sh and make set
# Spelling, by codespell; and forms that a reader has to read twice, by our own list. The configuration of proselint
# 0.16.0 can only switch its own checks on and off, so it cannot read this list. Debian 12 has no package of vale.
. "$top_srcdir/tests/docs/common.sh"

words=$top_srcdir/tests/docs/stumbling-words
pages="README.md INSTALL.md HACKING.md CONTRIBUTING.md SECURITY.md NEWS bench/REPORT.md bench/RELIABILITY.md kernel/README.md kernel/fstests/README.md packaging/rpm/README.md contrib/btrfs-progs/README.md man/*.rst man/terms/*.rst"
patches="kernel/*/*.patch tests/kernel/*/*.patch"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

spelled()
{
	codespell --config "$top_srcdir/.codespellrc" "$@"
}

# Of the sources what is written by hand.
sources_spelled()
{
	cd "$top_srcdir" || return
	# shellcheck disable=SC2086 # patterns
	spelled --skip '*/corpus,*.svg,*/results,*.o,*.log,*.trs,*.patch' \
		$pages bench kernel packaging cmds lib tests bash-completion quickstart configure.ac
}

# patches_spelled FILE...: the context of a patch is the kernel's, with its mistakes
patches_spelled()
{
	spelled --ignore-regex '^ .*' "$@"
}

all_patches_spelled()
{
	cd "$top_srcdir" || return
	# shellcheck disable=SC2086 # patterns
	patches_spelled $patches
}

# paragraphs FILE...: each on a line, with the file's name before it; of C the literals alone
paragraphs()
{
	for file; do
		case $file in
		*.c) grep '"' "$file" | awk -v name="$file" '{ print name ": " $0 }' ;;
		*) awk -v RS= -v name="$file" '{ gsub(/[ \t\n]+/, " "); print name ": " $0 }' "$file" ;;
		esac
	done
}

# read_once FILE...: no form of the list is in them
read_once()
{
	paragraphs "$@" >"$scratch/paragraphs"
	[ -s "$scratch/paragraphs" ] || { echo "nothing to read"; return 1; }
	grep -v '^#' "$words" | while IFS='	' read -r form better allowed; do
		sed -E "s/${allowed:-^$}//Ig" "$scratch/paragraphs" | grep -Ei "$form" | sed -E "s/^([^:]*): .*((.{40}|: .*)($form).{0,40}).*/\\1: \\2/I" |
			sed "s|\$| -> $better|"
	done >"$scratch/found"
	cat "$scratch/found"
	[ ! -s "$scratch/found" ]
}

all_read_once()
{
	cd "$top_srcdir" || return
	# shellcheck disable=SC2086 # patterns
	read_once $pages cmds/*.c cmds/ui/*.c lib/*/*.c
}

finds()
{
	! "$@"
}

case $words in
/*) ;;
*) words=$PWD/$words top_srcdir=$(cd "$top_srcdir" && pwd) ;;
esac

printf 'A %s%s with an error.\n' sent ance >"$scratch/misspelled"
printf ' A %s%s in the context.\n' sent ance >"$scratch/context.patch"
printf '+A %s%s that was added.\n' sent ance >"$scratch/added.patch"
printf 'It looks at what is\nbehind the first leaf.\n\nNothing is left behind.\n' >"$scratch/stumbling"
echo 'error("--estimate leaves no room for other reports");' >"$scratch/stumbling.c"
echo "It looks at the leaves after the first one, and nothing is left behind." >"$scratch/plain"

if command -v codespell >/dev/null; then
	check "codespell finds no error" sources_spelled
	check "codespell finds no error in a patch" all_patches_spelled
	check "codespell finds one that was planted" finds spelled "$scratch/misspelled"
	check "codespell finds one that a patch adds" finds patches_spelled "$scratch/added.patch"
	check "an error in the context of a patch is the kernel's" patches_spelled "$scratch/context.patch"
else
	skip "codespell finds no error" "codespell is not installed"
fi
check "no sentence has to be read twice for a form of the list" all_read_once
check "a planted sentence is found" finds read_once "$scratch/stumbling"
check "a planted message is found" finds read_once "$scratch/stumbling.c"
check "a plain sentence is left alone" read_once "$scratch/plain"
finish
