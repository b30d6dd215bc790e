#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What users and files are called, and what is typed, may not change a terminal or what is read on it.

bats_require_minimum_version 1.5.0
load ../cli/environment.bash

COMMANDS=(fiemap-shared seek-map nocow-check log-stats send-reada status)
# a colour, an override of the direction, a C1 control, a byte that is not UTF-8, a line's end
ODD=($'a\033[1mb' $'a\u202eb' $'a\u2028b' $'a\u009bb' $'a\377b' $'a\nb' $'a\u200bb')

setup_file() {
    mount_btrfs 512M noatime
}

# expect_harmless: what the last run printed, but for the ends of lines
expect_harmless() {
    local raw

    raw=$(printf '%s%s' "$output" "${stderr:-}" | tr -d '\n' |
        LC_ALL=C grep -c -aP '[\x00-\x1f\x7f\xff]|\xc2[\x80-\x9f]|\xe2\x80[\x8b\x8e\x8f\xa8-\xae]' || true)
    [ "$raw" = 0 ] || fail "printed as it is: $(printf '%s' "$output${stderr:-}" | cat -v)"
}

@test "in another encoding than UTF-8, names are ASCII" {
    local name=$'\u00db2J'

    printf x >"$MNT/$name"
    ln -s /nowhere "$MNT/dangling-$name"
    for command in fiemap-shared seek-map nocow-check; do
        LC_ALL=C run -1 --separate-stderr "$FASTPATH" "$command" "$MNT/$name" "$MNT/dangling-$name"
        [[ $output == *'\xc3\x9b2J'* && $stderr == *'\xc3\x9b2J'* ]] || fail "$output$stderr"
        ! LC_ALL=C grep -qaP '[\x80-\xff]' <<<"$output$stderr" || fail "$output$stderr"
    done
    rm "$MNT/$name" "$MNT/dangling-$name"
}

@test "a file that is called as an option" {
    mkdir "$MNT/adverse"
    touch "$MNT/adverse/--format=nagios"
    ln -s /nowhere "$MNT/adverse/dangling"
    cd "$MNT/adverse"
    for command in fiemap-shared seek-map nocow-check; do
        run -1 --separate-stderr "$FASTPATH" "$command" --format=json -- *
        jq . <<<"$output" >/dev/null || fail "$output"
        run -1 --separate-stderr "$FASTPATH" "$command" --format=openmetrics -- *
        [[ $output == *"# EOF" ]] || fail "$output"
    done
    run -1 --separate-stderr "$FASTPATH" send-reada --format=json --decode --format=nagios
    jq . <<<"$output" >/dev/null || fail "$output"
    # It is an option where it is one, also of a command line with an error.
    run -3 --separate-stderr "$FASTPATH" seek-map --format=nagios --unknown -- *
    run -3 --separate-stderr "$FASTPATH" seek-map --unknown --format=nagios -- *
    run -1 --separate-stderr "$FASTPATH" seek-map --unknown -- *
    cd /
}

# bats test_tags=slow
@test "options that nobody knows" {
    local command odd option

    for command in "${COMMANDS[@]}"; do
        for odd in "${ODD[@]}"; do
            for option in "--$odd" "--$odd=1" "--bad=$odd" "-q${odd:1}" "--format${odd:1}=json"; do
                run -1 --separate-stderr "$FASTPATH" "$command" "$option" "$MNT"
                [ -n "$stderr" ]
                expect_harmless
                run -1 --separate-stderr "$FASTPATH" "$option" "$command" "$MNT"
                expect_harmless
            done
        done
    done
}

@test "commands that nobody knows" {
    local odd

    for odd in "${ODD[@]}"; do
        run -1 --separate-stderr "$FASTPATH" "$odd"
        [[ $stderr = "ERROR: unknown command 'a"*"b'"* ]]
        expect_harmless
        run -1 --separate-stderr "$FASTPATH" help "$odd"
        expect_harmless
    done
}

@test "values that no option takes" {
    local odd

    for odd in "${ODD[@]}"; do
        while read -r command option; do
            run -1 --separate-stderr "$FASTPATH" "$command" "$option=$odd" "$MNT"
            [[ $stderr = "ERROR: "*"'a"*"b'"* ]] || fail "$command $option: $stderr"
            expect_harmless
        done <<'END'
fiemap-shared --only
fiemap-shared --range
fiemap-shared --format
fiemap-shared --log
seek-map --check
seek-map --repeat
nocow-check --engine
nocow-check --scratch
nocow-check --size
nocow-check --seconds
log-stats --files
send-reada --proto
send-reada --rate
send-reada --top
END
        run -1 --separate-stderr "$FASTPATH" fiemap-shared --sync="$odd" "$MNT"
        expect_harmless
    done
}

@test "a value that begins like an option is a value" {
    cd "$MNT"
    for odd in "${ODD[@]}"; do
        : >"-$odd"
        run -0 --separate-stderr "$FASTPATH" fiemap-shared --files0-from "-$odd"
        run -0 --separate-stderr "$FASTPATH" fiemap-shared -- "-$odd"
        expect_harmless
    done
}

@test "names in tables, errors and JSON, whatever the locale" {
    local odd command locale format

    for odd in "${ODD[@]}"; do
        mkdir -p "$MNT/names/$odd"
        echo x >"$MNT/names/$odd/$odd"
    done
    for locale in C C.UTF-8; do
        for command in fiemap-shared seek-map nocow-check; do
            for format in text json; do
                LC_ALL=$locale run -0 --separate-stderr timeout 60 "$FASTPATH" --format $format "$command" -r "$MNT/names"
                expect_harmless
            done
            run -1 --separate-stderr "$FASTPATH" "$command" "${ODD[@]}"
            expect_harmless
        done
    done
}
