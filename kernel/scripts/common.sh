# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
# What the scripts of this folder share. Source it; $0 is the script that was called.

# With this variable patch makes no new file, and bash has set -e in $(...), too, which leaving the mode does not undo.
unset POSIXLY_CORRECT
set +o posix
shopt -u inherit_errexit

# Tests have a folder of their own.
kernel_dir=$(realpath "${FASTPATH_KERNEL_DIR:-$(dirname "${BASH_SOURCE[0]}")/..}")
# make_cache makes it.
cache_dir=${XDG_CACHE_HOME:-${HOME:?}/.cache}/btrfs-fastpath

die() {
    printf 'ERROR: %s\n' "$*" >&2
    exit 1
}

warn() {
    printf 'WARNING: %s\n' "$*" >&2
}

# Progress goes to standard error: standard output is for what a script was asked for.
step() {
    printf '==> %s\n' "$*" >&2
}

# usage_error TEXT: a mistake in the call
usage_error() {
    printf 'ERROR: %s\n' "$*" >&2
    usage >&2
    exit 1
}

require_commands() {
    local command missing=()

    for command; do
        command -v "$command" >/dev/null || missing+=("$command")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        die "not installed: ${missing[*]}"
    fi
}

# What bases/BASE.conf says.
suite='' source_package='' source_version='' source_sha256='' headers_package=''
kernel_series='' config_fragments=() uml_fragments=() debug_fragments=() mail_first=()

# read_base BASE: sets the above, and $base
read_base() {
    base=$1
    [ -f "$kernel_dir/bases/$base.conf" ] ||
        die "no such base: '$base' (there are: $(list_bases))"
    # shellcheck source=/dev/null
    . "$kernel_dir/bases/$base.conf"
}

# base_of_release RELEASE: the base whose series of releases it is, if there is one
base_of_release() {
    local name

    for name in $(list_bases); do
        read_base "$name"
        case $1 in
        "$kernel_series" | "$kernel_series"[!0-9]*) echo "$name" && return ;;
        esac
    done
}

# status_column NUMBER: what STATUS.tsv has there, each once, a line each
status_column() {
    awk -F '\t' -v column="$1" 'NR > 1 && !seen[$column]++ { print $column }' "$kernel_dir/STATUS.tsv"
}

# features_in STATES BASE: the features that have one of them there, a regular expression, a line each
features_in() {
    awk -F '\t' -v states="^($1)\$" -v base="$2" '$2 == base && $3 ~ states { print $1 }' "$kernel_dir/STATUS.tsv"
}

list_bases() {
    status_column 2 | paste -s -d ' '
}

# newest_base: the one with patches that comes last
newest_base() {
    local name

    for name in $(list_bases); do
        [ ! -f "$kernel_dir/$name/series" ] || printf '%s\n' "$name"
    done | sort --version-sort | tail -n 1
}

# read_series DIR [SERIES]: the names of the patches in DIR/series, or in DIR/SERIES, in order
read_series() {
    sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$1/${2-series}"
}

# patch_header NAME FILE: the value of a header of a patch
patch_header() {
    sed -n -e '/^---/q' -e "s/^$1: //p" "$2" | head -n 1
}

# header_values NAME PATCH: all that the patch has, a line each
header_values() {
    sed -n -e '/^$/q' -e "s/^$1: //p" "$2"
}

# description PATCH: its text, between header and diff
description() {
    sed -e '1,/^$/d' -e '/^---$/,$d' "$1"
}

# tree_version TREE: what a kernel tree calls itself, 6.1.192 for example. awk would take a=b/Makefile for an assignment.
tree_version() {
    awk -F ' *= *' '
        $1 == "VERSION" { version = $2 }
        $1 == "PATCHLEVEL" { patchlevel = $2 }
        $1 == "SUBLEVEL" { print version "." patchlevel "." $2; exit }' <"$1/Makefile"
}

# kernel_make TREE OBJECTS ARGUMENT...: the kernel's make, quietly, for objects outside the sources
kernel_make() {
    local tree=$1 objects=$2

    shift 2
    make --silent --no-print-directory -C "$tree" O="$objects" "$@"
}

# configure_kernel TREE OBJECTS FRAGMENT...: OBJECTS/.config from tinyconfig and configs/FRAGMENT...
configure_kernel() {
    local tree objects fragments log

    tree=$(realpath "$1")
    mkdir -p "$2"
    objects=$(realpath "$2")
    shift 2
    fragments=("${@/#/$kernel_dir/configs/}")
    log=$objects/configure.log

    # merge_config.sh works in the current folder
    if ! (
        unset KCONFIG_CONFIG KCONFIG_ALLCONFIG
        cd "$objects" &&
            kernel_make "$tree" "$objects" tinyconfig &&
            "$tree/scripts/kconfig/merge_config.sh" -m .config "${fragments[@]}" &&
            kernel_make "$tree" "$objects" olddefconfig
    ) >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        die "cannot configure the kernel in '$objects': see $log"
    fi
    require_options "$objects/.config" "${fragments[@]}"
}

# require_options CONFIG FRAGMENT...: what the fragments ask for is in CONFIG; of two values the last
# one counts. A dependency that is missing makes olddefconfig drop an option without a word.
require_options() {
    local config=$1 lost

    shift
    lost=$(awk -v config="$config" '
        function note(values, line,   name) {
            if (line ~ /^# CONFIG_[A-Za-z0-9_]+ is not set$/)
                line = substr(line, 3, length(line) - 13) "=n"
            if (line !~ /^CONFIG_[A-Za-z0-9_]+=/)
                return
            name = line
            sub(/=.*/, "", name)
            if (!(name in values))
                values[++values[0]] = name
            values[name] = substr(line, length(name) + 2)
        }
        BEGIN {
            while ((status = (getline line < config)) > 0)
                note(have, line)
            if (status < 0)
                exit 1
        }
        { note(want, $0) }
        END {
            for (i = 1; i <= want[0]; i++) {
                name = want[i]
                value = name in have ? have[name] : "n"
                if (value != want[name])
                    printf " %s=%s", name, want[name]
            }
        }' "$@") || die "cannot read '$config'"
    [ -z "$lost" ] || die "the configuration does not take:$lost"
}

# A patch is FSSS-subject.patch: the number of its feature, and its own within the feature. Features have the numbers of
# their order in STATUS.tsv. Two groups of patches have numbers, too.
mapfile -t -O 1 features < <(status_column 1)
features[8]=send-fixes
features[9]=counters

without_groups() {
    sed -E '/^(send-fixes|counters)$/d'
}

# feature_of PATCH: nothing if its name does not tell
feature_of() {
    if [[ ${1##*/} =~ ^([0-9])[0-9]{3}-[a-z0-9-]+\.patch$ ]]; then
        printf '%s' "${features[BASH_REMATCH[1]]-}"
    fi
}

# needed_feature PATCH: of 9FSS-subject.patch the one whose number is F, in which it counts
needed_feature() {
    if [[ ${1##*/} =~ ^9([1-8])[0-9]{2}- ]]; then
        printf '%s' "${features[BASH_REMATCH[1]]-}"
    fi
}

# list_features FUNCTION BASE: what FUNCTION says of the patches of the base's series, each feature once
list_features() {
    local patch

    list_patches "$kernel_dir/$2" | while read -r patch; do
        "$1" "$patch"
        echo
    done | sed '/^$/d' | uniq
}

# carried_features BASE: those that the series has patches for
carried_features() {
    list_features feature_of "$1" | without_groups
}

# counted_features BASE: those that the series counts in
counted_features() {
    list_features needed_feature "$1"
}

# contains WORD LIST...
contains() {
    local word=$1 other

    shift
    for other; do
        [ "$other" != "$word" ] || return 0
    done
    return 1
}

# is_earlier VERSION OTHER: 6.1.9 is earlier than 6.1.10
is_earlier() {
    [ "$1" != "$2" ] && printf '%s\n' "$1" "$2" | sort --check=silent --version-sort
}

# variant_folders DIR: DIR/before-X, which have patches as kernels earlier than X need them, the earliest X first
variant_folders() {
    [ -d "$1" ] || return 0
    find "$1" -mindepth 1 -maxdepth 1 -type d -name 'before-*' | sort --version-sort
}

# folders_for DIR [VERSION]: where the patches for a kernel VERSION are looked for, in order
folders_for() {
    local folder

    if [ -n "${2-}" ]; then
        variant_folders "$1" | while read -r folder; do
            ! is_earlier "$2" "${folder##*/before-}" || printf '%s\n' "$folder"
        done
    fi
    printf '%s\n' "$1"
}

# list_patches DIR [VERSION [SERIES]]: the paths of the patches in DIR/series, or in DIR/SERIES, in order; none without a
# series. For a kernel VERSION its variants take the place of those that have some.
list_patches() {
    local name folder folders series=${3-series}

    [ -f "$1/$series" ] || return 0
    mapfile -t folders < <(folders_for "$1" "${2-}")
    while read -r name; do
        for folder in "${folders[@]}"; do
            [ ! -e "$folder/$name" ] || break
        done
        printf '%s\n' "$folder/$name"
    done < <(read_series "$1" "$series")
}

# patched_files PATCH...: the names of the files that the patches make, change or delete
patched_files() {
    awk '
        /^\+\+\+ / && last ~ /^--- / { print last; print }
        { last = $0 }' "$@" |
        sed -e 's/^....//' -e 's/\t.*//' -e '/^\/dev\/null$/d' -e 's,^[^/]*/,,' | sort -u
}

# require_regular DIR FILE...: each is a regular file or not there, and none is a link or in one
require_regular() {
    local dir=$1 file

    shift
    for file; do
        [ ! -e "$dir/$file" ] || [ -f "$dir/$file" ] || die "no regular file: '$dir/$file'"
        while [ ! -L "$dir/$file" ]; do
            [[ $file == */* ]] || continue 2
            file=${file%/*}
        done
        die "a link: '$dir/$file'"
    done
}

# copy_files FROM TO FILE...: those that are there
copy_files() {
    local from=$1 to=$2 file

    shift 2
    require_regular "$from" "$@"
    for file; do
        [ -e "$from/$file" ] || continue
        mkdir -p "$to/${file%/*}"
        cp -p "$from/$file" "$to/$file"
    done
}

# patch_exactly TREE PATCH [OPTION...]: a patch may have moved, but fits without fuzz
patch_exactly() {
    local tree=$1 patch=$2

    shift 2
    patch -p1 --fuzz=0 --force --no-backup-if-mismatch --reject-file=- --directory="$tree" --input="$patch" "$@"
}

# misfits: files and hunks in what patch said, in $scratch/said, or all that it said if it could not tell
misfits() {
    awk '
        /^(checking|patching) file / { file = $3 }
        match($0, /^Hunk #[0-9]+ FAILED at [0-9]+/) {
            hunk = substr($0, 6, RLENGTH - 5)
            sub(/ FAILED at /, " at line ", hunk)
            found = found (found ? "; " : "") file ": hunk " hunk
        }
        { said = said (NR > 1 ? "; " : "") $0 }
        END { print found ? found : said }' "$scratch/said"
}

# git_as PERSON DATE FOLDER ARGUMENT...: git in the FOLDER, whatever the user has configured. It needs make_scratch.
git_as() {
    local name=${1% <*} address=${1##*<} date=$2 folder=$3

    shift 3
    env -i PATH="$PATH" HOME="$scratch" LC_ALL=C GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1 \
        GIT_AUTHOR_NAME="$name" GIT_AUTHOR_EMAIL="${address%>}" GIT_AUTHOR_DATE="$date" \
        GIT_COMMITTER_NAME="$name" GIT_COMMITTER_EMAIL="${address%>}" GIT_COMMITTER_DATE="$date" \
        git -C "$folder" "$@"
}

# exit_on_signals: with the EXIT trap, which a second signal would end
exit_on_signals() {
    local signal

    # Without a trap of its own, bash runs no EXIT trap for SIGPIPE while it says which child another signal ended.
    for signal in INT TERM HUP PIPE; do
        # shellcheck disable=SC2064 # the number is known now
        trap "trap '' INT TERM HUP PIPE; exit $((128 + $(kill -l "$signal")))" "$signal"
    done
}

# stop_children: for an EXIT trap. It asks all children to end, and the group of one that leads a group, and waits for a minute
# at most. A number in a variable can be that of a stranger by now, or not be noted yet, and "wait" returns at once while
# another signal is pending.
stop_children() {
    local child children tries

    trap '' INT TERM HUP PIPE
    for ((tries = 0; tries < 600; tries++)); do
        children=$(jobs -pr)
        [ -n "$children" ] || return 0
        # Once more after ten seconds: one that reaches a shell while it forks is lost.
        if [ $((tries % 100)) -eq 0 ]; then
            for child in $children; do
                kill -TERM -- "-$child" || kill -TERM "$child" || true
            done
        fi
        sleep 0.1
    done 2>/dev/null
}

# make_scratch DIR: $scratch is a folder in DIR for this run alone, which is gone when the script ends, as its children are
make_scratch() {
    scratch=
    trap 'stop_children; rm -rf "$scratch"' EXIT
    exit_on_signals
    scratch=$(mktemp -d "$1/btrfs-fastpath.XXXXXX")
}

# is_shared DIR: others than its owner can write to it. A group of the caller's own name has nobody else in it.
is_shared() {
    local mode group

    IFS=/ read -r mode group < <(stat -L -c %a/%g "$1") || return 0
    if (((8#$mode & 8#22) == 8#20)) && [ "$group" = "$(id -g)" ]; then
        [ "$(id -gn)" != "$(id -un)" ]
    else
        (((8#$mode & 8#22) != 0))
    fi
}

# is_own DIR: the caller's, and nobody else can write to it
is_own() {
    [ -d "$1" ] && [ -O "$1" ] && ! is_shared "$1"
}

# is_trusted FILE: the caller's or root's, who owns / also where a user namespace has another name for root
is_trusted() {
    local owner

    owner=$(stat -L -c %u "$1") || return
    [ -O "$1" ] || [ "$owner" = 0 ] || [ "$owner" = "$(stat -c %u /)" ]
}

# require_safe DIR: no other user can put something else in its place, or in that of what is made in it
require_safe() {
    local parent=${1%/*}

    [ "$1" = / ] || require_safe "${parent:-/}"
    [ -e "$1" ] || return 0
    is_trusted "$1" || die "not safe from other users: '$1' belongs to one"
    [ -k "$1" ] || ! is_shared "$1" || die "not safe from other users: they can write to '$1'"
}

# make_cache FOLDER...: $cache_dir, with these in it. From it root runs what is in a Makefile: sudo and su can leave a user's
# HOME to root.
make_cache() {
    umask go-w
    cache_dir=$(realpath -m "$cache_dir")
    require_safe "$cache_dir"
    mkdir -p "$cache_dir"
    # In a folder like /tmp somebody else may have been the first.
    require_safe "$cache_dir"
    { [ "$(realpath "$cache_dir")" = "$cache_dir" ] && is_own "$cache_dir"; } ||
        die "the cache is not yours alone: '$cache_dir'; XDG_CACHE_HOME can name another place"
    [ $# -eq 0 ] || mkdir -p "${@/#/$cache_dir/}"
}

# require_base_tree TREE: TREE is a kernel of the series that read_base found
# shellcheck disable=SC2154 # the base sets them
require_base_tree() {
    local version pinned=${source_version%%-*}

    if [ ! -f "$1/Makefile" ] || [ ! -d "$1/fs/btrfs" ]; then
        die "no kernel source: '$1'"
    fi
    version=$(tree_version "$1")
    [ -n "$version" ] || die "no kernel source: '$1'"
    case $version in
    "$pinned") ;;
    "$kernel_series".*) warn "'$1' is Linux $version, and the patches were tested with $pinned" ;;
    *) die "'$1' is Linux $version, not $kernel_series.y" ;;
    esac
}
