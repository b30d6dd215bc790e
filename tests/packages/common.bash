# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the proofs stand on: a machine with a Debian suite, what they share, and TAP.
#
#   usage() { ...; }
#   prove() { check ...; finish; }     in the machine, with those of $own_options that were given
#   proof "$@"                         the last line

here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
# In the machine. What the proofs share is there, a folder a suite.
shared=/srv
suite=bookworm
own_options=''

die() {
    printf 'ERROR: %s\n' "$*" >&2
    exit 1
}

# -- TAP --

tests=0 failures=0

# verdict STATUS DESCRIPTION [FILE]: FILE explains a failure
verdict() {
    tests=$((tests + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tests - $2"
        return
    fi
    failures=$((failures + 1))
    echo "not ok $tests - $2"
    [ -z "${3-}" ] || tail -n 100 "$3" | sed 's/^/# /'
}

# check DESCRIPTION COMMAND...: in a shell of its own, which ends at the first failure; what it prints explains it
check() {
    local log status

    log=$(mktemp)
    set +e
    (set -e && "${@:2}") >"$log" 2>&1
    status=$?
    set -e
    verdict "$status" "$1" "$log"
    rm "$log"
}

finish() {
    echo "1..$tests"
    [ "$failures" -eq 0 ]
}

# -- inside --

# Nobody is there to answer.
install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# The packages that the README's commands built on this suite, from the commit that the file "commit" there names
packages() {
    echo "$shared/$suite/packages"
}

as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all env HOME=/nonexistent "$@"
}

# -- outside --

has_packages() {
    [ "$(cat "$share/$suite/packages/commit" 2>/dev/null)" = "$(git -C "$source_dir" rev-parse HEAD)" ]
}

# The README's commands build the packages. Their results are not among those of this proof.
require_packages() {
    [ "$name" = readme ] || has_packages || "$here/readme" --share "$share" "$suite" 2>&1 | sed 's/^/# /' ||
        die "there are no packages for $suite: see the proof 'readme'"
}

outside() {
    [ "$(id -u)" -eq 0 ] || die "a chroot needs root"
    if [ -z "$share" ]; then
        share=$(mktemp -d "${TMPDIR:-/var/tmp}/btrfs-fastpath-packages.XXXXXX")
        trap 'rm -rf "$share"' EXIT
        trap 'exit 130' INT
        trap 'exit 143' TERM HUP
    fi
    mkdir -p "$share/$suite"
    require_packages
    # Not in the place of this shell, which has a folder to remove.
    "$source_dir/tests/newcomer" --only --cache "$share" --share "$share" "$suite" \
        "tests/packages/$name --inside $* $suite"
}

# proof ARGUMENT...
proof() {
    local run=outside arguments=()

    name=${0##*/} share=
    while [ $# -gt 0 ]; do
        case $1 in
        # for itself alone
        --inside) run=prove ;;
        --share)
            [ -d "${2-}" ] || die "--share requires a directory"
            share=$(realpath "$2") && shift
            ;;
        -h | --help) usage && exit ;;
        -*)
            [[ " $own_options " == *" $1 "* ]] || { usage >&2 && exit 1; }
            arguments+=("$1")
            ;;
        *) break ;;
        esac
        shift
    done
    [ $# -le 1 ] || { usage >&2 && exit 1; }
    suite=${1:-$suite}
    [[ $suite =~ ^[a-z]+$ ]] || { usage >&2 && exit 1; }
    "$run" "${arguments[@]}"
}
