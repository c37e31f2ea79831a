#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/docs.sh: build our documents as HTML, with the tree's own Sphinx extensions, into
# out/docs; a warning is an error. Then see that they leave nothing out: that each symbol we
# export is described; that each file in debugfs, each sysctl and each word in "sites" is in
# kprobes.rst, each hook of an architecture on the page of kprobes-arch.rst, and each KUnit suite and
# script in kprobes-testing.rst. Outside of the series, see that each section of make test is in
# harness/README.md, and each row of make matrix in RESULTS.md. And see that there are all the tests
# that these pages name, as many breakages as two of them say, and what they link to.
#
# The others of the tree's documents are left out, and references to them are text.

. "${0%/*}/lib.sh"

html=$out/docs
status=0

build()
{
	rm -rf "$html"
	cd "$tree/Documentation"
	exec env SPHINX_CONF="$harness/docs.conf.py" PYTHONDONTWRITEBYTECODE=1 \
		sphinx-build -b html -q -E -W --keep-going -n -d "$build/docs" \
		-D kerneldoc_srctree="$tree" -D kerneldoc_bin="$tree/scripts/kernel-doc" . "$html"
}

# Our C files, but those that are tests
sources()
{
	find "$top/kernel" "$top/arch" -name '*.c' ! -path '*/tests/*'
}

# missing LIST WHAT WHERE COMMAND...: complain of each of the names that LIST prints for which
# COMMAND... NAME fails
missing()
{
	what=$2 where=$3
	"$1" | sort -u >"$build/docs.names"
	shift 3
	[ -s "$build/docs.names" ] || die "no $what found"
	while read -r name; do
		"$@" "$name" || { say "$what $name is not in $where"; status=1; }
	done <"$build/docs.names"
}

# Whether a page has the description of a function
described()
{
	grep -qs "id=\"c\\.$1\"" "$html"/*.html
}

# Whether a document, or a page outside of the series, has it as a literal
named()
{
	case $1 in
	*.rst)	grep -qE "\`\`(struct )?$2(\(\))?\`\`" "$top/Documentation/$1" ;;
	*)	grep -qF "\`$2\`" "$top/$1" ;;
	esac
}

# Whether the page of a document has it, be it from the sources
shown()
{
	grep -qwF "$2" "$html/$1"
}

exported()
{
	sources | xargs sed -n 's/^EXPORT_SYMBOL[A-Z_]*(\([a-z0-9_]*\).*/\1/p'
}

seen_by_users()
{
	sources | xargs sed -n \
		's/.*debugfs_create_[a-z0-9_]*("\([a-z_]*\)", 0[0-7]*,.*/\1/p; s/.*\.procname.*"\(.*\)".*/debug.\1/p'
}

# What "path" and "why" can be
words()
{
	sources | xargs grep -ohE '(\]\s*= |return |: )"[a-z]+"' | sed 's/.*"\(.*\)"/\1/'
}

# What harness/test.sh can run
sections()
{
	sed -n 's/^run_\([a-z_]*\)()$/\1/p' "$harness/test.sh" | tr _ -
}

# What harness/matrix.sh can run
rows()
{
	sed -n 's/^row \([^[:space:]]*\).*/\1/p' "$harness/configs/matrix"
}

scripts()
{
	grep -oE '[a-z_]+\.sh' "$top/tools/testing/selftests/kprobes/Makefile"
}

suites()
{
	cut -d . -f 1 "$build/docs.cases"
}

# The tests in the documents: suite.case, perhaps with a * in it, script.sh or case.tc
tests()
{
	sed 's/``*/\n/g' "$top/Documentation/kprobes-testing.rst" "$top/RESULTS.md" "$harness/README.md" |
		grep -xE '[a-z0-9_]+\.[a-z0-9_*]+' | grep -vE '\.([ch]|pl|py|rst|json|svg|config)$'
}

# The files that the pages outside of the series link to
links()
{
	for page in README.md RESULTS.md harness/README.md; do
		grep -oE '\]\([^:#)]+' "$top/$page" | sed "s,^](,$(dirname "$page")/,"
	done
}

is_file()	# NAME
{
	[ -f "$top/$1" ]
}

is_test()	# NAME
{
	case $1 in
	*.sh)	grep -qwF "$1" "$top/tools/testing/selftests/kprobes/Makefile" ;;
	*.tc)	find "$pristine/tools/testing/selftests/ftrace" -name "$1" | grep -q . ;;
	*)	grep -qx "$(echo "$1" | sed 's/\*/.*/')" "$build/docs.cases" ;;
	esac
}

# How many ways there are to break the code
count_mutants()
{
	number=$(grep -c '^mutant ' "$harness/mutants")
	grep -q "has $number breakages" "$top/RESULTS.md" &&
		grep -q "in $number ways" "$top/README.md" ||
		{ say "harness/mutants has $number breakages, and the documents say otherwise"; status=1; }
}

need python3-sphinx graphviz perl
"$harness/tree.sh"
run_logged docs "building the documents" build || die "Sphinx complains: see out/logs/docs.log"
missing exported "exported symbol" "the pages" described
missing seen_by_users "debugfs file or sysctl" kprobes.rst named kprobes.rst
missing words "word of sites" kprobes.rst named kprobes.rst
missing hooks "hook" kprobes-arch.html shown kprobes-arch.html
missing sections "section" harness/README.md named harness/README.md
missing rows "row of the matrix" RESULTS.md named RESULTS.md
kunit_cases "$top/lib" "$top/kernel" "$top/arch" >"$build/docs.cases"
missing suites "KUnit suite" kprobes-testing.rst named kprobes-testing.rst
missing scripts "script" kprobes-testing.rst named kprobes-testing.rst
missing tests "test" "the sources" is_test
missing links "link" "the repository" is_file
count_mutants
[ $status = 0 ] || die "the documents leave something out, or have something that is not there"
say "out/docs/kprobes.html"
