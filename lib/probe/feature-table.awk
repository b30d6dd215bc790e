# SPDX-License-Identifier: GPL-2.0-only
# Makes feature-table.h of kernel/STATUS.tsv and kernel/SYMBOLS.tsv, in this order.
BEGIN {
	FS = "\t"
	# REUSE-IgnoreStart
	print "/* SPDX-License-Identifier: GPL-2.0-only */"
	# REUSE-IgnoreEnd
	print "/* Made of kernel/STATUS.tsv and kernel/SYMBOLS.tsv. */"
}

function identifier(feature)
{
	gsub("-", "_", feature)
	return toupper(feature)
}

function begin_list(name, macro)
{
	printf "#define %s(%s)", name, macro
}

FNR == 1 {
	if (NR == 1)
		begin_list("FEATURE_LIST", "FEATURE")
	else {
		print ""
		begin_list("FEATURE_SERIES_LIST", "SERIES")
		print series
		begin_list("FEATURE_SYMBOL_LIST", "SYMBOL")
	}
	next
}

NR == FNR && !($1 in known) {
	known[$1]
	split($4, since, ".")
	printf " \\\n\tFEATURE(%s, \"%s\", %d, %d)", identifier($1), $1, since[1], since[2]
}

NR == FNR && ($3 == "carried" || $3 == "improved") {
	split($2, base, ".")
	series = series sprintf(" \\\n\tSERIES(%s, %s, %d, %d)", identifier($1), toupper($3 == "carried" ? "present" : $3), base[1], base[2])
}

NR != FNR {
	split($1, word, ":")
	state = word[2] == "" ? "present" : word[2]
	printf " \\\n\tSYMBOL(%s, %s, \"%s\")", identifier(word[1]), toupper(state), $2
}

END { print "" }
