# SPDX-License-Identifier: GPL-2.0
#
# Holds verdicts against rules:
#
#	awk -v arch=ARCH [-v need=VERDICT...] [-v all=1 | -v other=1] -f compare.awk RULES KNOWN VERDICTS
#
# The files' fields have tabs between them. VERDICTS has a verdict, the bytes, objdump's words,
# and how often there is that, if more than once. RULES has a verdict, or several with bars
# between, and a regular expression for the words; what the first that fits says must be the
# verdict, and what none fits must be a copy. Nothing that names an address may be copied.
#
# KNOWN has in the same form what is wrong by the rules, but not to be counted as such; its
# expressions are for the bytes, a space and the words. In both a third field is the only
# architecture that a line is for. Of what is needed there has to be some, and with "all" something
# for each line of both. With "other", objdump is not of the version that KNOWN is about. It may know
# more instructions then: what is refused is not wrong.

BEGIN { FS = "\t" }

FILENAME != ARGV[3] && (/^(#|$)/ || ($3 != "" && $3 != arch)) { next }
FILENAME == ARGV[1] { verdict[++rules] = "|" $1 "|"; pattern[rules] = $2; next }
FILENAME == ARGV[2] { known[++exceptions] = $1; excused[exceptions] = $2; next }

function expected(words,	i)
{
	if (!(words in cache)) {
		for (i = 1; i <= rules && words !~ pattern[i]; i++)
			;
		fits[i] = 1
		cache[words] = i <= rules ? verdict[i] : "|copy|"
	}
	return cache[words]
}

function is_known(	i)
{
	for (i = 1; i <= exceptions; i++) {
		if ($1 == known[i] && $2 " " $3 ~ excused[i]) {
			happens[i] = 1
			return 1
		}
	}
	return 0
}

function wrong(why)
{
	bad += times
	print $2 ": " $3 ": " $1 ", " why
}

{
	times = $4 == "" ? 1 : $4
	count += times
	seen[$1] += times
	want = expected($3)
	if ($1 == "copy" && $3 ~ /<.*>/)
		wrong("of what names an address")
	else if (index(want, "|" $1 "|"))
		next
	else if (is_known() || (other && $1 ~ /^(bad|refused|length-refused)$/))
		differ += times
	else
		wrong("not " substr(want, 2, length(want) - 2))
}

END {
	for (i in seen)
		printf "%9d %s\n", seen[i], i
	n = split(need, needed, " ")
	for (i = 1; i <= n; i++) {
		if (!seen[needed[i]]) {
			print "there is no " needed[i]
			bad++
		}
	}
	for (i = 1; all && i <= rules; i++) {
		if (!fits[i]) {
			print "nothing fits " pattern[i]
			bad++
		}
	}
	for (i = 1; all && i <= exceptions; i++) {
		if (!happens[i]) {
			print "nothing is " known[i] " like " excused[i]
			bad++
		}
	}
	printf "%d instructions, %d differ in known ways, %d wrong\n", count, differ, bad
	exit bad != 0
}
