#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC1091,SC2154 # what common.sh and make set
# What bash completes, with the completion of btrfs-progs and without.
. "$top_srcdir/tests/docs/common.sh"

bash_completion=/usr/share/bash-completion/bash_completion
native=/usr/share/bash-completion/completions/btrfs

if ! command -v bash >/dev/null || [ ! -r "$bash_completion" ]; then
	echo "1..0 # SKIP bash-completion is not installed"
	exit 0
fi

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
complete=$(cd "$top_srcdir/tests/docs" && pwd)/complete.bash

# Installs our completions under DIRECTORY.
stage()
{
	mkdir -p "$1/bash-completion/completions"
	cp "$completions/btrfs" "$completions/btrfs-fastpath" "$1/bash-completion/completions/"
}

# Makes a folder of what bash-completion reads at the start, with our part for the front end.
stage_startup()
{
	mkdir -p "$scratch/startup" "$scratch/plain-startup"
	# of bash-completion itself, where it is not one file
	for part in /etc/bash_completion.d/*bash_completion*; do
		[ ! -e "$part" ] || cp "$part" "$scratch/plain-startup/"
	done
	cp -r "$scratch/plain-startup/." "$scratch/startup/"
	sed "s|@frontcompletion@|$scratch/share/bash-completion/completions/btrfs|" \
		"$completions/front-end.in" >"$scratch/startup/btrfs-front-end"
}

# offers LINE: the sorted words; LOADED are completions read before.
offers()
{
	# shellcheck disable=SC2086 # several files
	(cd "$scratch/files" && env -i PATH="$PATH" HOME="$scratch/home" XDG_DATA_DIRS="$data_dirs" \
		BASH_COMPLETION_COMPAT_DIR="$startup" bash --norc "$complete" "$bash_completion" "$1" ${loaded:-}) 2>&1 | sort
}

# completes LINE [WORD...]: exactly these words, sorted, are offered.
completes()
{
	line=$1
	shift
	words=$(offers "$line")
	expected=$([ $# -eq 0 ] || printf '%s\n' "$@")
	if [ "$words" != "$expected" ]; then
		printf '%s\n' "'$line' offers:" "$words" "and not:" "$expected"
		return 1
	fi
}

# includes LINE WORD...: these words are offered among others.
includes()
{
	words=$(offers "$1")
	shift
	for word; do
		if ! printf '%s\n' "$words" | grep -qxF -e "$word"; then
			printf '%s\n' "'$word' is not among:" "$words"
			return 1
		fi
	done
}

# expect VERB LINE [WORD...]: a check named after its line.
expect()
{
	check "$setting: '$2'${3:+: $3}" "$@"
}

# As btrfs-progs' completion alone has it.
as_native()
{
	expected=$(data_dirs=/usr/share startup=$scratch/plain-startup loaded=$native offers "$1")
	[ "$(offers "$1")" = "$expected" ] && return
	printf '%s\n' "'$1' offers:" "$(offers "$1")" "and not:" "$expected"
	return 1
}

expect_all_native()
{
	for line in 'btrfs ' 'btrfs sub' 'btrfs subvolume ' 'btrfs subvolume cr' 'btrfs filesystem ' \
		'btrfs inspect-internal r' 'btrfs inspect-internal rootid ' 'btrfs inspect-internal dump-tree d' \
		'btrfs device add ' 'btrfs send ' 'btrfs check ' 'btrfs --h' 'btrfs property get ' 'btrfs x ' \
		'btrfs inspect-internal --raw fiem'; do
		expect as_native "$line"
	done
}

expect_ours_after_inspect()
{
	expect includes 'btrfs inspect-internal ' fiemap-shared
	expect includes 'btrfs inspect ' fiemap-shared
	expect completes 'btrfs i fiem' fiemap-shared
	expect completes 'btrfs -q i f' fastpath-status fiemap-shared
	expect completes 'btrfs --format json inspect fiem' fiemap-shared
	expect completes 'btrfs inspect fiemap-shared --ti' --timing
	expect completes 'btrfs inspect-internal fiemap-shared --format=' json nagios ndjson openmetrics text
	expect completes 'btrfs inspect fiemap-shared --only s' shared
	expect completes 'btrfs inspect fiem d' data.img directory
	expect completes 'btrfs inspect see' seek-map
}

mkdir -p "$scratch/files/directory" "$scratch/home" "$scratch/bin"
ln -s "$(cd "$top_builddir" && pwd)/btrfs-fastpath" "$scratch/bin/"
PATH=$scratch/bin:$PATH
touch "$scratch/files/data.img"
stage "$scratch/share"
stage_startup
startup=$scratch/startup

setting=btrfs-fastpath
data_dirs=$scratch/share
expect completes 'btrfs-fastpath ' collect demo disable enable fiemap-shared help log-stats module nocow-check seek-map send-reada status
expect completes 'btrfs-fastpath fie' fiemap-shared
expect completes 'btrfs-fastpath nothing'
expect completes 'btrfs-fastpath nothing '
expect completes 'btrfs-fastpath --fo' --format=
expect completes 'btrfs-fastpath --format=' json ndjson text
expect completes 'btrfs-fastpath --format=j' json
expect completes 'btrfs-fastpath --format j' json
expect completes 'btrfs-fastpath --log=' debug default info quiet verbose
expect completes 'btrfs-fastpath --format json --log info fie' fiemap-shared
expect completes 'btrfs-fastpath -q fie' fiemap-shared
expect completes 'btrfs-fastpath --ti'
expect completes 'btrfs-fastpath help ' collect demo disable enable fiemap-shared log-stats module nocow-check seek-map send-reada status
expect completes 'btrfs-fastpath help fiemap-shared '
expect completes 'btrfs-fastpath fiemap-shared --ti' --timing
expect completes 'btrfs-fastpath fiemap-shared --format json --ti' --timing
expect completes 'btrfs-fastpath fiem --for' --format=
expect completes 'btrfs-fastpath fiemap-shared --only=' exclusive shared
expect completes 'btrfs-fastpath fiemap-shared --only e' exclusive
expect completes 'btrfs-fastpath fiemap-shared --range '
expect completes 'btrfs-fastpath fiemap-shared --sort=sh' shared shared-extents
expect completes 'btrfs-fastpath fiemap-shared --top '
expect completes 'btrfs-fastpath fiemap-shared --range=0:1'
expect completes 'btrfs-fastpath fiemap-shared --files0-from da' data.img
expect completes 'btrfs-fastpath fiemap-shared --files0-from=da' data.img
expect completes 'btrfs-fastpath fiemap-shared d' data.img directory
expect completes 'btrfs-fastpath fiemap-shared data.img di' directory
expect completes 'btrfs-fastpath fiemap-shared data.img --ti' --timing
expect completes 'btrfs-fastpath fiemap-shared -- --ti'
expect completes 'btrfs-fastpath --format json fiemap-shared -- di' directory
expect completes 'btrfs-fastpath seek-map --hi' --histogram
expect completes 'btrfs-fastpath seek-map --ver' --verbose --verdict --version
expect completes 'btrfs-fastpath seek-map --che' --check
expect completes 'btrfs-fastpath seek-map --check=' data
expect completes 'btrfs-fastpath seek-map --check d' data.img directory
expect completes 'btrfs-fastpath seek-map --repeat='
expect completes 'btrfs-fastpath no --ch' --check
expect completes 'btrfs-fastpath log --che' --check
expect completes 'btrfs-fastpath log-stats --format=' json nagios ndjson openmetrics text
expect completes 'btrfs-fastpath log-stats --warning '
expect completes 'btrfs-fastpath log-stats --ra'
expect completes 'btrfs-fastpath seek-map --ra' --range= --raw
expect completes 'btrfs-fastpath seek-map --help=' all
expect completes 'btrfs-fastpath log-stats --files '
expect completes 'btrfs-fastpath log-stats --json-samples=da' data.img
expect completes 'btrfs-fastpath log-stats di' directory
expect completes 'btrfs-fastpath collect --c' --config=
expect completes 'btrfs-fastpath log-stats --judge=p9' p90 p95 p99
expect completes 'btrfs-fastpath log-stats --watch --by ' directory file process
expect completes 'btrfs-fastpath log-stats --workload ' append directory overwrite rename
expect completes 'btrfs-fastpath module ' disable enable status
expect completes 'btrfs-fastpath module -q e' enable
expect completes 'btrfs-fastpath module enable '
expect completes 'btrfs-fastpath module --kernel 6 d' disable
expect completes 'btrfs-fastpath module enable --ker' --kernel=
# shellcheck disable=SC2046 # words
expect completes 'btrfs-fastpath module enable --kernel ' $(cd /lib/modules 2>/dev/null && ls)
expect completes 'btrfs-fastpath module enable --kernel=nothing'
expect completes 'btrfs-fastpath nocow-check --scratch ' nocow prealloc
expect completes 'btrfs-fastpath nocow-check --engine=f' fio
expect completes 'btrfs-fastpath nocow-check --exercise d' directory
expect completes 'btrfs-fastpath nocow-check --size '
expect completes 'btrfs-fastpath nocow-check --max-copied '
expect completes 'btrfs-fastpath nocow-check --expect-nocow=d' directory
expect completes 'btrfs-fastpath nocow-check --expect-nocow da' data.img
expect completes 'btrfs-fastpath nocow-check --ignore-reason=c' checksums compressed
expect completes 'btrfs-fastpath nocow-check --sort=in' in-place
expect completes 'btrfs-fastpath send-reada --proto=' 0 1 2 3
expect completes 'btrfs-fastpath send-reada --decode da' data.img
expect completes 'btrfs-fastpath send-reada -p d' directory
expect completes 'btrfs-fastpath send-reada d' data.img directory
expect completes 'btrfs-fastpath send-reada --rate=m' measure
expect completes 'btrfs-fastpath send-reada --top '
expect completes 'btrfs-fastpath stat --che' --check
expect completes 'btrfs-fastpath status d' data.img directory
expect completes 'btrfs-fastpath status --measure d' directory

setting="btrfs, read by itself"
expect_ours_after_inspect
expect completes 'btrfs sub'
expect completes 'btrfs inspect ' fastpath-status fiemap-shared log-stats nocow-check seek-map send-reada
expect completes 'btrfs inspect fas' fastpath-status
expect completes 'btrfs inspect fastpath-status --che' --check
expect completes 'btrfs inspect stat'

if [ -r "$native" ]; then
	setting="btrfs, after btrfs-progs'"
	data_dirs=$scratch/share:/usr/share
	expect_ours_after_inspect
	expect_all_native
	expect includes 'btrfs inspect ' rootid
	expect includes 'btrfs inspect-internal ' rootid
	expect completes 'btrfs in rooti' rootid

	# Newer ones find that of btrfs-progs by themselves, wherever ours is.
	if ! grep -q '^_comp_load()' "$bash_completion"; then
		setting="btrfs, found before btrfs-progs'"
		startup=$scratch/plain-startup
		expect_ours_after_inspect
		expect_all_native
		startup=$scratch/startup
	fi

	setting="btrfs, by a link alone"
	mkdir -p "$scratch/home/.local/share/bash-completion/completions"
	ln -s "$scratch/share/bash-completion/completions/btrfs" "$scratch/home/.local/share/bash-completion/completions/"
	startup=$scratch/plain-startup
	data_dirs=/usr/share
	expect_ours_after_inspect
	expect_all_native
	rm "$scratch/home/.local/share/bash-completion/completions/btrfs"
	startup=$scratch/startup
	data_dirs=$scratch/share:/usr/share

	setting="btrfs, read twice"
	ours=$scratch/share/bash-completion/completions/btrfs
	loaded="$ours $ours"
	expect_ours_after_inspect
	expect_all_native

	setting="btrfs, after btrfs-progs' was read"
	loaded="$native $ours"
	expect_ours_after_inspect
	expect_all_native

	setting="btrfs, two copies of it"
	stage "$scratch/second"
	loaded=$ours
	data_dirs=$scratch/share:$scratch/second:/usr/share
	expect_ours_after_inspect
	expect_all_native
	loaded=

	setting="btrfs, without btrfs-fastpath in its folder"
	rm "$scratch"/share/bash-completion/completions/btrfs-fastpath
	data_dirs=$scratch/share:/usr/share
	expect_all_native
else
	skip "with btrfs-progs' completion" "it is not installed"
fi

front_end=$top_builddir/bash-completion/btrfs-front-end
if [ -e "$front_end" ]; then
	check "the front end's is read from where it is installed, or linked to" \
		grep -qF "='${frontcompletion:?is where it is}'" "$front_end"
fi

if command -v shellcheck >/dev/null; then
	check "shellcheck finds no fault" shellcheck "$completions/btrfs" "$completions/btrfs-fastpath" "$completions/front-end.in"
else
	skip "shellcheck finds no fault" "shellcheck is not installed"
fi
finish
