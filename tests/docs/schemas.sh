#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC1091,SC2016,SC2154 # what common.sh and make set; $defs is a key
# Each command with JSON has a strict schema, with the keys that its manual page has.
. "$top_srcdir/tests/docs/common.sh"

schemas=$top_srcdir/cmds/schemas
check_schema=$top_srcdir/tests/docs/check-schema
scratch=$(mktemp -d) || exit
trap 'rm -rf "$scratch"' EXIT

# page_of COMMAND
page_of()
{
	case $1 in
	disable) set -- enable ;;
	esac
	for page in "$top_srcdir/man/btrfs-inspect-$1.8.rst" "$top_srcdir/man/btrfs-fastpath-$1.8.rst"; do
		[ ! -e "$page" ] || echo "$page"
	done
}

# collect and demo write no JSON, and help is no command of its own.
commands_with_json()
{
	commands | grep -vxE 'collect|demo|help'
}

schema_names()
{
	for schema in "$schemas"/*.json; do
		basename "$schema" .json
	done
}

# notices COMMAND EXPRESSION PROBLEM: in a schema that sed's EXPRESSION changed
notices()
{
	sed "$2" "$schemas/$1.json" >"$scratch/$1.json"
	if cmp -s "$schemas/$1.json" "$scratch/$1.json"; then
		echo "it is unchanged"
		return 1
	fi
	found=$("$check_schema" "$scratch/$1.json" "$(page_of "$1")") && { echo "nothing was found"; return 1; }
	printf '%s\n' "$found" | grep -qxF -e "$3" || { printf '%s\n' "$found"; return 1; }
}

# update-schemas
if [ "${1-}" = --update ]; then
	for command in $(schema_names); do
		"$check_schema" --update "$schemas/$command.json" "$(page_of "$command")" || exit
	done
	exit
fi

check "each command with JSON has a schema" same --help "$(commands_with_json)" cmds/schemas "$(schema_names)"
if ! command -v python3 >/dev/null; then
	skip "each schema is strict, and has the keys of the page" "python3 is not installed"
	finish
	exit
fi
for command in $(schema_names); do
	check "$command: the schema is strict, and has the keys of the page" \
		"$check_schema" "$schemas/$command.json" "$(page_of "$command")"
done
check "a key that the page does not have is found" \
	notices nocow-check 's/"alarm"/"alert"/' 'the page lacks alert'
check "a key that the schema does not have is found" \
	notices nocow-check 's/"alarm"/"alert"/' 'the schema lacks alarm'
check "a key of an object in the page is found" \
	notices seek-map 's/"nonzero_offset"/"where"/g' 'the schema lacks nonzero_offset'
check "an object that takes any key is found" \
	notices enable 's/"additionalProperties": false/"additionalProperties": true/' 'more keys are allowed than version'
check "a key that nothing describes is found" \
	notices enable 's/"description": "The version of the format."/"description": ""/' 'no sentence describes version'
check "a number that can be negative is found" \
	notices seek-map '0,/, "minimum": 0/s///' 'calls_per_second can be negative'
check "a field that the schema does not have is found" \
	notices seek-map '/^ *"segment_count": {/d' 'the schema lacks segment_count'
check "a field that is described otherwise is found" \
	notices seek-map 's/"The number of segments."/"The segments."/' 'segment_count has another description'
check "a field of another type is found" \
	notices send-reada '/"reads": {/s/"integer"/"string"/' 'reads has another type'
check "a missing definition is found" \
	notices status 's|#/$defs/encoding|#/$defs/coding|' 'there is no definition coding'
finish
