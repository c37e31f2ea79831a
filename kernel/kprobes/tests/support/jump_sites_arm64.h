/* SPDX-License-Identifier: GPL-2.0 */
/* arm64 half of kernel/kprobes/test_optimize_sites.c: see there */
#ifndef _KPROBES_TESTS_JUMP_SITES_ARM64_H
#define _KPROBES_TESTS_JUMP_SITES_ARM64_H

#include <asm/insn.h>

#include "jumps_arm64.h"

#define KPROBES_JUMP_LENGTH	AARCH64_INSN_SIZE

/* How many bytes of executable memory a site with a jump may take at most */
#define KPROBES_JUMP_MEMORY	96

/* Places where no jump may be */

KPROBES_JUMP(kprobes_jump_bti_c, "hint #34");
KPROBES_JUMP(kprobes_jump_bti_j, "hint #36");
KPROBES_JUMP(kprobes_jump_bti_jc, "hint #38");
KPROBES_JUMP(kprobes_jump_paciasp, "hint #25; hint #29");
KPROBES_JUMP(kprobes_jump_pacibsp, "hint #27; hint #31");

static const struct kprobes_jump kprobes_no_jumps[] = {
	{ "bti c", kprobes_jump_bti_c, 0, "pad" },
	{ "bti j", kprobes_jump_bti_j, 0, "pad" },
	{ "bti jc", kprobes_jump_bti_jc, 0, "pad" },
	{ "paciasp", kprobes_jump_paciasp, 0, "pad" },
	{ "pacibsp", kprobes_jump_pacibsp, 0, "pad" },
};

#endif /* _KPROBES_TESTS_JUMP_SITES_ARM64_H */
