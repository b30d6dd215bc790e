# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
# Shared by the programs of the module: for which kernels it can be built, and which versions match.

# Users have no sbin, and the environment of hooks is arbitrary. common.sh has a cache in HOME.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=${HOME:-/root} LC_ALL=C
# root's shell may set these for other builds
unset FASTPATH_KERNEL_DIR ARCH CROSS_COMPILE KCFLAGS KCPPFLAGS MAKEFLAGS MODPROBE_OPTIONS TAR_OPTIONS
series_dir=/usr/share/btrfs-fastpath/kernel
# shellcheck source=../../kernel/scripts/common.sh
. "$series_dir/scripts/common.sh"

# dkms_setting NAME DEFAULT: an administrator can change it in files in which DKMS sets its own variables
dkms_setting() (
    set +eu
    # shellcheck disable=SC2034 # the files may use them
    kernelver='' arch=$(uname -m) dkms_tree=/var/lib/dkms source_tree=/usr/src
    unset "$1"
    for configuration in /etc/dkms/framework.conf /etc/dkms/framework.conf.d/*.conf; do
        # shellcheck source=/dev/null
        [ ! -r "$configuration" ] || . "$configuration" >/dev/null 2>&1
    done
    echo "${!1:-$2}"
)

dkms_tree=$(dkms_setting dkms_tree /var/lib/dkms)

# package_version PACKAGE: the version of its files, even during installation; nothing without files
package_version() {
    dpkg-query --show --showformat '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null |
        sed -nE 's/^(installed|unpacked|half-configured|triggers-[a-z]+) //p' || true
}

# image_version RELEASE: the version of the kernel's package, signed or not
image_version() {
    local version

    version=$(package_version "linux-image-$1")
    echo "${version:-$(package_version "linux-image-$1-unsigned")}"
}

# headers_version HEADERS: the version of the kernel's package to which they belong, for example 6.1.192-2
headers_version() {
    sed -n 's/^#define LINUX_PACKAGE_ID " *Debian \(.*\)"$/\1/p' "$1/include/generated/package.h"
}

# The administrator's choice of patches: a line series=full, the default, or series=corrections
settings_file=/etc/btrfs-fastpath/module.conf

# What read_settings finds: an option of apply, and what is wrong in the file
only='' wrong_setting=''

# The file is only read: a shell would run what is in it.
read_settings() {
    local line

    [ -e "$settings_file" ] || [ -L "$settings_file" ] || return 0
    if [ ! -f "$settings_file" ] || [ ! -r "$settings_file" ]; then
        wrong_setting="cannot read $settings_file"
        return
    fi
    if ! is_trusted "$settings_file" || is_shared "$settings_file"; then
        wrong_setting="other users can write to $settings_file"
        return
    fi
    while read -r line || [ -n "$line" ]; do
        case $line in
        '' | '#'*) ;;
        series=full) only='' ;;
        series=corrections) only=corrections ;;
        *) wrong_setting="$settings_file has $(printf %q "${line:0:60}") instead of series=full or series=corrections" ;;
        esac
    done <"$settings_file"
}

read_settings

# module_version VERSION: the version in the module, which the stock module does not have
module_version() {
    echo "$1+fastpath@VERSION@${only:++$only}"
}

source_tarball() {
    echo "/usr/src/$source_package.tar.xz"
}

# tests/packages/module boots the module with kernels of these series
tried_bases=(6.1 6.12)

# Results of examine_kernel: why the module cannot be built for a kernel, a sentence or nothing; and its version
reason='' version=''

# examine_kernel RELEASE [HEADERS]: sets the above, and what read_base sets
examine_kernel() {
    local headers=${2:-/lib/modules/$1/build}

    reason='' version='' base=$(base_of_release "$1")
    if [ -z "$base" ] || [ -z "$(carried_features "$base")" ]; then
        reason="there are no patches for this kernel"
    elif [[ " ${tried_bases[*]} " != *" $base "* ]]; then
        reason="the module was not tried with this kernel"
    elif [[ $1 == *-rt-* ]]; then
        reason="its source is not in a package"
    elif [ -n "$wrong_setting" ]; then
        reason=$wrong_setting
    elif read_base "$base" && [ ! -e "$headers/include/generated/package.h" ]; then
        reason="its headers are not installed: apt install linux-headers-$1"
    elif ! grep -qsx 'CONFIG_BTRFS_FS=m' "$headers/.config"; then
        reason="btrfs is no module of this kernel"
    else
        compare_versions "$1" "$headers"
    fi
}

# compare_versions RELEASE HEADERS: a module from another source could lack fixes that the kernel has
compare_versions() {
    local image_is source_is

    version=$(headers_version "$2")
    image_is=$(image_version "$1")
    source_is=$(package_version "$source_package")
    if [ -z "$version" ]; then
        reason="its headers are not those of a package"
    elif [ "$image_is" != "$version" ]; then
        reason="the kernel is ${image_is:-not that of a package}, its headers are $version"
    elif [ -z "$source_is" ] || [ ! -r "$(source_tarball)" ]; then
        reason="$source_package is not installed: apt install $source_package"
    elif [ "$source_is" != "$version" ]; then
        reason="$source_package is $source_is, the kernel is $version: install the same version of both"
    fi
}
