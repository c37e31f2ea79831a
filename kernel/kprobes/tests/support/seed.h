/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random numbers that are the same at each boot, unless the parameter "seed" of the file is set;
 * and the same whenever a suite is run again, as what it has written into text stays there.
 */
#ifndef _KPROBES_TESTS_SEED_H
#define _KPROBES_TESTS_SEED_H

#include <kunit/test.h>
#include <linux/moduleparam.h>
#include <linux/prandom.h>

static unsigned int test_seed = 1;
module_param_named(seed, test_seed, uint, 0444);
MODULE_PARM_DESC(seed, "the random numbers begin with");

static inline void seed_random(struct kunit_suite *suite, struct rnd_state *random)
{
	prandom_seed_state(random, test_seed);
	kunit_info(suite, "seed %u", test_seed);
}

#endif /* _KPROBES_TESTS_SEED_H */
