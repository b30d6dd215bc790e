#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# complete.bash BASH-COMPLETION LINE [FILE...]: what bash offers at the end of LINE, one a line, after
# it has read FILE...; what is not there then is loaded as bash does when it is first needed.

# Copies of a completion that load each other are an error, not a hang.
FUNCNEST=100
line=$2
# shellcheck source=/dev/null
source "$1"
shift 2

# Outside of a completion, where it belongs, the builtin complains.
compopt()
{
	:
}

# Splits the line as Readline does: "=" and ":" are words of their own.
split_line()
{
	local spaced=${line//=/ = }

	read -ra COMP_WORDS <<<"${spaced//:/ : }"
	[[ $line == *' ' ]] && COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMP_LINE=$line
	COMP_POINT=${#line}
	# shellcheck disable=SC2034 # read by completions
	COMP_TYPE=9 COMP_KEY=9
}

# load FILE...: has a completion ready, as bash does; fails if there is none
load()
{
	local loader file

	for file; do
		# shellcheck source=/dev/null
		source "$file"
	done
	for loader in _comp_load __load_completion; do
		complete -p "${COMP_WORDS[0]}" &>/dev/null && return
		if declare -F "$loader" >/dev/null; then
			"$loader" "${COMP_WORDS[0]}"
		fi
	done
	complete -p "${COMP_WORDS[0]}" &>/dev/null
}

# Runs the function that completes; 124 is its wish to be looked up again.
run_completion()
{
	[[ $(complete -p "${COMP_WORDS[0]}") =~ \ -F\ ([^\ ]+)\  ]] || return 1
	COMPREPLY=()
	"${BASH_REMATCH[1]}" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
}

split_line
load "$@" || exit 1
run_completion
if (($? == 124)); then
	load && run_completion
fi
[[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\n' "${COMPREPLY[@]}"
