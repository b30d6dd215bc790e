#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC1091,SC2154 # what common.sh and make set
# The pages in HTML: all of them, with links and images that are there.
. "$top_srcdir/tests/docs/common.sh"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
pages=$scratch/html

made()
{
	"$top_srcdir/man/html/make-html" "$top_srcdir" 1.2.3 "$pages"
}

has_all_pages()
{
	expected=$(cd "$top_srcdir/man" && for page in *.[1-9].rst; do echo "${page%.rst}.html"; done)
	same "the folder" "$(cd "$pages" && ls -- *.html)" "those of the manual" "$(printf '%s.html\n' benchmarks hacking index install kernel security && echo "$expected")"
}

# The index leads to each page, and a page to those that it names.
has_links()
{
	for page in "$pages"/*.[1-9].html; do
		name=${page##*/}
		grep -qF "href=\"$name\"" "$pages/index.html" || { echo "not in the index: $name"; return 1; }
	done
	grep -qF '<a href="btrfs-inspect-seek-map.8.html"><strong>btrfs-inspect-seek-map</strong>(8)</a>' "$pages/btrfs-fastpath.8.html" &&
		grep -qF 'btrfs-fastpath 1.2.3' "$pages/index.html"
}

# README.md is the index, and its links lead to the pages of the other documents.
has_documents()
{
	for link in install.html install.html#what-the-build-needs kernel.html benchmarks.html hacking.html btrfs-fastpath-workflows.7.html; do
		sed -n '/<main>/,$p' "$pages/index.html" | grep -qF "href=\"$link\"" || { echo "not in the index: $link"; return 1; }
	done
	grep -qF 'href="kernel.html"' "$pages/install.html"
}

has_plots()
{
	for plot in "$top_srcdir"/bench/plots/*.svg "$top_srcdir/man/html/demo.svg"; do
		cmp "$plot" "$pages/plots/${plot##*/}" || return 1
	done
}

# refuses FAULT FILE SED-SCRIPT: FAULT is found in a copy of the pages where FILE was changed so
refuses()
{
	rm -rf "$scratch/copy"
	cp -r "$pages" "$scratch/copy"
	sed -i "$3" "$scratch/copy/$2"
	"$top_srcdir/tests/docs/check-html" "$scratch/copy" | grep -F "$1"
}

if ! /usr/bin/python3 -c 'import docutils, markdown' 2>/dev/null; then
	echo "1..0 # SKIP python3-docutils or python3-markdown is not installed"
	exit 0
fi
check "they are made" made
check "there is one for each page" has_all_pages
check "they are well-formed, and their links work" "$top_srcdir/tests/docs/check-html" "$pages"
check "the index and the pages have links" has_links
check "README.md is the index, and leads to the other documents" has_documents
check "the plots of the report are there" has_plots
check "a link to nothing is found" refuses "leads to nothing: none.html" index.html 's/href="benchmarks.html"/href="none.html"/'
check "an element without an end is found" refuses "was not the last to begin" index.html 's/<\/dl>//'
finish
