# shellcheck shell=bash disable=SC2034
# What the scripts of this folder share. Source it; $0 is the script that was called.

kernel_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
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
kernel_series='' config_fragments=() debug_fragments=()

# read_base BASE: sets the above, and $base
read_base() {
    base=$1
    [ -f "$kernel_dir/bases/$base.conf" ] ||
        die "no such base: '$base' (there are: $(list_bases))"
    # shellcheck source=/dev/null
    . "$kernel_dir/bases/$base.conf"
}

list_bases() {
    local conf names=()

    for conf in "$kernel_dir"/bases/*.conf; do
        names+=("$(basename "$conf" .conf)")
    done
    printf '%s' "${names[*]}"
}

# read_series DIR: the names of the patches in DIR/series, in order
read_series() {
    sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$1/series"
}

# patch_header NAME FILE: the value of a header of a patch
patch_header() {
    sed -n -e '/^---/q' -e "s/^$1: //p" "$2" | head -n 1
}

# tree_version TREE: what a kernel tree calls itself, 6.1.192 for example
tree_version() {
    awk -F ' *= *' '
        $1 == "VERSION" { version = $2 }
        $1 == "PATCHLEVEL" { patchlevel = $2 }
        $1 == "SUBLEVEL" { print version "." patchlevel "." $2; exit }' "$1/Makefile"
}
