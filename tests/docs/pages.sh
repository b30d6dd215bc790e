#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC1091,SC2154 # what common.sh and make set
# Every command is documented everywhere, and the manual pages are well formed.
. "$top_srcdir/tests/docs/common.sh"

completed_commands()
{
	bash -c '. "$0" && echo "$_btrfs_fastpath_commands $_btrfs_fastpath_own_commands"' "$completions/btrfs-fastpath" |
		tr -s '[:space:]' '\n'
}

# pages_of_commands: what man/ has, by command.
pages_of_commands()
{
	for page in "$top_srcdir"/man/btrfs-inspect-*.8.rst "$top_srcdir"/man/btrfs-fastpath-*.8.rst; do
		basename "$page" .8.rst | sed -E 's/^btrfs-(inspect|fastpath)-//'
	done
}

# silent COMMAND...: succeeds if COMMAND does and prints nothing.
silent()
{
	if messages=$("$@" 2>&1) && [ -z "$messages" ]; then
		return 0
	fi
	printf '%s\n' "$messages"
	return 1
}

# What rst2man writes, harmless, and not ours to change, aside.
lint()
{
	mandoc -Tlint -W warning "$1" |
		grep -v 'skipping paragraph macro: sp after S[HS]'
	return 0
}

format()
{
	MANROFFSEQ='' MANWIDTH=80 man --warnings --encoding=UTF-8 --local-file "$1" >/dev/null
}

convert()
{
	"$RST2MAN" --report=info "$1" /dev/null
}

# check_page SOURCE SECTION...: it is well formed and has these sections
check_page()
{
	name=$(basename "$1" .rst)
	page=$(built_page "$1")
	source=$1
	shift

	if [ -n "${RST2MAN:-}" ]; then
		check "$name: rst2man prints no message" silent convert "$source"
	else
		skip "$name: rst2man prints no message" "rst2man is not installed"
	fi
	if command -v mandoc >/dev/null; then
		check "$name: mandoc finds no fault" silent lint "$page"
	else
		skip "$name: mandoc finds no fault" "mandoc is not installed"
	fi
	if command -v man >/dev/null; then
		check "$name: man formats it without a warning" silent format "$page"
	else
		skip "$name: man formats it without a warning" "man is not installed"
	fi
	for section in NAME DESCRIPTION "$@" EXAMPLES TERMS AVAILABILITY 'SEE ALSO'; do
		check "$name: has a section $section" grep -qE "^\.SH \"?$section\"?\$" "$page"
	done
	check "$name: bears the program's version" grep -qF "\"$("$fastpath" --version)\"" "$page"
}

check_page_of()
{
	check_page "$(page_of "$@")" SYNOPSIS OPTIONS 'EXIT STATUS'
}

features_of_patches()
{
	sed 1d "$top_srcdir/kernel/STATUS.tsv" | cut -f 1 | sort -u
}

counters_of_patches()
{
	sed -n 's/^+.*\[BTRFS_FASTPATH_.*"\([a-z_]*\)" },$/\1/p' "$top_srcdir"/kernel/*/9*.patch | sort -u
}

# broken_lines: of the list of commands in --help those that argp broke
broken_lines()
{
	! "$fastpath" --help | sed -n '/^Commands:/,/^$/p' | grep -vE '^ |^Commands:$|^$'
}

# questions: the headings in the list of commands
questions()
{
	"$fastpath" --help | sed -n '/^Commands:/,/^$/p' | grep -E '^ [A-Z].*\?$'
}

# after_question: each command stands below a question
after_question()
{
	[ "$("$fastpath" --help | sed -n '/^Commands:/,/^$/p' | sed -n 2p)" = "$(questions | head -n 1)" ]
}

# terms: the files with a term of the field each
terms()
{
	(cd "$top_srcdir/man" && ls terms/*.rst)
}

included_terms()
{
	sed -n 's/^\.\. include:: \(terms\/.*\)/\1/p' "$top_srcdir"/man/*.[78].rst | sort -u
}

# readme_example README: the commands of the program in its examples, and their output
readme_example()
{
	sed -n '/^    # btrfs-fastpath/,/^$/p' "$1"
}

# tests/cli/workflows.bats runs the examples of that page.
example_is_run()
{
	example=$(readme_example "$1")
	[ -n "$example" ] || return 1
	case $(cat "$top_srcdir/man/btrfs-fastpath-workflows.7.rst") in
	*"$example"*) ;;
	*) echo "not in btrfs-fastpath-workflows(7):"; echo "$example"; return 1 ;;
	esac
}

# a figure of the example that is not the page's
notices_an_old_example()
{
	sed '/^    # btrfs-fastpath/,/^$/s/MiB/KiB/' "$top_srcdir/README.md" >"$scratch" && ! example_is_run "$scratch"
}

# declared_metrics: those that the commands can write, without the suffixes _total and _info
declared_metrics()
{
	cat "$top_srcdir"/cmds/*.c "$top_srcdir"/cmds/ui/*.c | grep -oE '"btrfs_fastpath_[a-z_]+"' | tr -d '"'
}

# documented_metrics: those in the section METRICS of btrfs-fastpath-collect(8)
documented_metrics()
{
	sed -n '/^METRICS$/,/^EXIT/p' "$top_srcdir/man/btrfs-fastpath-collect.8.rst" |
		grep -oE '\bbtrfs_fastpath_[a-z_]+' | sed -E 's/_(total|info)$//' | sort -u
}

scratch=$(mktemp) || exit 1
trap 'rm -f "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
commands=$(commands)
check "the example of README.md is one of btrfs-fastpath-workflows(7)" example_is_run "$top_srcdir/README.md"
check "an example with other figures is noticed" notices_an_old_example
check "every term is on a page, and every term on a page is known" same man/terms "$(terms)" "man/*.rst" "$(included_terms)"
check "every metric is in btrfs-fastpath-collect(8), and there are no others" \
	same cmds/ "$(declared_metrics)" btrfs-fastpath-collect.8.rst "$(documented_metrics)"
check "the commands are grouped by questions" after_question
check "there are several questions" [ "$(questions | wc -l)" -ge 3 ]
check "no line of the list of commands is too long" silent broken_lines
check "every command has a page, every page a command" \
	same --help "$(printf '%s\n' "$commands" | grep -vx disable)" man/ "$(pages_of_commands)"
if command -v bash >/dev/null; then
	check "the completion has the commands of --help" \
		same --help "$commands" "the completion" "$(completed_commands)"
else
	skip "the completion has the commands of --help" "bash is not installed"
fi

for command in $commands; do
	check "$command: is in README.md" \
		grep -qE "\bbtrfs-fastpath $command\b" "$top_srcdir/README.md"
	check "$command: is in btrfs-fastpath(8)" \
		grep -qF "**$(basename "$(page_of "$command")" .8.rst)**\\ (8)" "$(page_of)"
	check_page_of "$command"
done
check_page_of

check_page "$top_srcdir/man/btrfs-fastpath-kernel.7.rst" FILES
check_page "$top_srcdir/man/btrfs-fastpath-workflows.7.rst"
for feature in $(features_of_patches); do
	check "$feature: has a section in btrfs-fastpath-kernel(7)" \
		grep -qixF "$feature" "$top_srcdir/man/btrfs-fastpath-kernel.7.rst"
done
for counter in $(counters_of_patches); do
	check "$counter: is in btrfs-fastpath-status(8)" \
		grep -qxF "*$counter*" "$top_srcdir/man/btrfs-fastpath-status.8.rst"
done
finish
