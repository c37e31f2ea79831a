#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/size.sh: how large it all is, in lines, beside what we aim at. Numbers to look at: a long
# line or a comment that is dropped is no gain.

. "${0%/*}/lib.sh"

cd "$top"

# Lines in files that match PATTERN, and not OTHER
lines()	# PATTERN [OTHER]
{
	find Documentation README.md Makefile arch harness include kernel lib tools -type f | grep -E "$1" | grep -vE "${2:-^$}" | xargs -r cat | wc -l
}

row()	# WHAT NUMBER [AIM]
{
	printf '%-36s %7s %7s\n' "$1" "$2" "${3:--}"
}

tests='/tests/|^lib/test_|^tools/testing/'
core=$(lines '^(kernel|include)/.*\.[chS]$' "$tests")
x86=$(lines '^arch/x86/.*\.[chS]$' "$tests")
arm64=$(lines '^arch/arm64/.*\.[chS]$' "$tests")

row "lines" now aim
row "product" $((core + x86 + arm64)) 14000
row "  core and headers" "$core"
row "  x86" "$x86"
row "  arm64" "$arm64"
row "tests" "$(lines "$tests")" 30000
row "Documentation/" "$(lines '^Documentation/.*\.rst$')" 2500
row "README.md" "$(lines '^README\.md$')" 200
row "harness" "$(lines '^(harness/|Makefile$)')"
row "edits to files of the tree" "$(find patches -name '*.patch' | xargs grep -hcE '^[-+]([^-+]|$)' | awk '{ s += $1 } END { print s }')"
row "names between core and architecture" "$(hooks | sort -u | wc -l)" 42
