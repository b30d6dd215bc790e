#!/bin/bash
# complete.bash BASH-COMPLETION LINE [FILE...]: what bash offers at the end of LINE, one a line, after
# it has read FILE...; without any the completion is loaded as bash does when it is first needed.

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

load()
{
	local loader file

	for file; do
		# shellcheck source=/dev/null
		source "$file"
	done
	[[ $# -eq 0 ]] || return
	for loader in _comp_load __load_completion; do
		if declare -F "$loader" >/dev/null; then
			"$loader" "${COMP_WORDS[0]}"
			return
		fi
	done
}

split_line
load "$@"
[[ $(complete -p "${COMP_WORDS[0]}") =~ \ -F\ ([^\ ]+)\  ]] || exit 1
COMPREPLY=()
"${BASH_REMATCH[1]}" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
[[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\n' "${COMPREPLY[@]}"
