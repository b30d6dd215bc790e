#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC1091,SC2016,SC2154 # what common.sh and make set, and what is for fish
# What zsh and fish complete: what the program's help has, and the values that bash completes.
. "$top_srcdir/tests/docs/common.sh"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$scratch/home" "$scratch/files" "$scratch/config/fish/completions"
mkdir "$scratch/files/folder"
touch "$scratch/files/data.img"
# Words are completed in a folder of files.
source=$(cd "$top_srcdir" && pwd)
# In the build, or in the tarball
completion=$(cd "$top_builddir" && pwd)
[ -e "$completion/zsh/_btrfs-fastpath" ] || completion=$source
cp "$completion/fish/btrfs-fastpath.fish" "$scratch/config/fish/completions/"
# fish completes no command that it does not find.
PATH=$(cd "$top_builddir" && pwd):$PATH

is_current()
{
	for name in zsh/_btrfs-fastpath fish/btrfs-fastpath.fish; do
		"$source/bash-completion/make-completion" "${name%/*}" "$fastpath" >"$scratch/current" || return 1
		cmp "$scratch/current" "$completion/$name" || return 1
	done
}

# offers_zsh LINE, offers_fish LINE: the sorted words
offers_zsh()
{
	(cd "$scratch/files" && HOME=$scratch/home zsh -f "$source/tests/docs/zsh-offers" "$completion/zsh" "$1")
}

offers_fish()
{
	(cd "$scratch/files" && HOME=$scratch/home XDG_CONFIG_HOME=$scratch/config XDG_DATA_HOME=$scratch/home \
		fish -c 'complete -C $argv[1]' "$1" | cut -f 1 | sed 's/^--[a-z0-9-]*=//' | sort)
}

# offered_are SHELL LINE [WORD...]: exactly these words, sorted
offered_are()
{
	shell=$1 line=$2
	shift 2
	words=$("offers_$shell" "$line")
	expected=$([ $# -eq 0 ] || printf '%s\n' "$@")
	if [ "$words" != "$expected" ]; then
		printf '%s\n' "'$line' offers:" "$words" "and not:" "$expected"
		return 1
	fi
}

# has_options SHELL COMMAND: all that begin with two dashes
has_options()
{
	"offers_$1" "btrfs-fastpath $2 -" | sed -n 's/^--/&/p' >"$scratch/offered"
	"$fastpath" "$2" --help=all | grep -oE '^ +(-[a-zA-Z], )?--[a-z0-9-]+(\[?=[^ ]*)?(, --[a-z0-9-]+)*' |
		grep -oE -- '--[a-z0-9-]+' | sort -u >"$scratch/expected"
	diff "$scratch/expected" "$scratch/offered"
}

# expect SHELL LINE [WORD...]
expect()
{
	check "$1: '$2'" offered_are "$@"
}

check "they are generated from this program's help" is_current
for shell in zsh fish; do
	if ! command -v $shell >/dev/null; then
		skip "$shell completes" "$shell is not installed"
		continue
	fi
	for command in $(commands); do
		check "$shell: the options of $command" has_options $shell "$command"
	done
	expect $shell 'btrfs-fastpath ' collect demo disable enable fiemap-shared help log-stats module nocow-check seek-map \
		send-reada status
	expect $shell 'btrfs-fastpath --format json fi' fiemap-shared
	expect $shell 'btrfs-fastpath help no' nocow-check
	expect $shell 'btrfs-fastpath module ' disable enable status
	expect $shell 'btrfs-fastpath fiemap-shared da' data.img
	expect $shell 'btrfs-fastpath fiemap-shared --only=' exclusive shared
	expect $shell 'btrfs-fastpath fiemap-shared --sort=sh' shared shared-extents
	expect $shell 'btrfs-fastpath nocow-check --sort=c' checksums copied
	expect $shell 'btrfs-fastpath nocow-check --engine=' builtin fio
	expect $shell 'btrfs-fastpath log-stats --judge=m' max mean median
	expect $shell 'btrfs-fastpath log-stats --json-samples=da' data.img
	case $shell in
	zsh) expect zsh 'btrfs-fastpath status --measure=fo' folder ;;
	fish) expect fish 'btrfs-fastpath status --measure=fo' folder/ ;;
	esac
done
finish
