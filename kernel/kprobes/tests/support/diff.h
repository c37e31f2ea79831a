/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For suites that run instructions natively and again with a probe, from the same state, and
 * compare what is left: registers, and whatever else the suite looks at. A suite describes its
 * instructions and their states by a struct diff_lab.
 */
#ifndef _KPROBES_TESTS_DIFF_H
#define _KPROBES_TESTS_DIFF_H

#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/types.h>

/**
 * struct diff_insn - an instruction in kernel text
 * @code:	its bytes
 * @length:	how many these are
 * @at:		where it runs, at first without a probe and then with one
 */
struct diff_insn {
	u8		code[16];
	u8		length;
	unsigned long	at;
};

/* How a hit is handled */
struct diff_way {
	bool		jump;
	bool		post;
};

/*
 * With which registers an instruction runs, and what the fault handler does about a bad operand; or
 * with a bad target, to be left out as well
 */
enum diff_trial { DIFF_GOOD, DIFF_LEFT_OUT, DIFF_REPAIRED, DIFF_NOWHERE, DIFF_TRIALS };

/**
 * struct diff_run - one run of an instruction
 * @i:		number of the instruction
 * @state:	number of the state from which it runs
 * @trial:	whether that has a bad operand, and what comes of it
 * @way:	how the hit is handled
 * @in:		the registers before it
 * @good:	what these were before they were spoiled
 */
struct diff_run {
	int			i;
	int			state;
	enum diff_trial		trial;
	struct diff_way		way;
	struct pt_regs		in;
	struct pt_regs		good;
};

/**
 * struct diff_lab - instructions, and the states from which they run
 * @nr:		how many instructions
 * @padding:	how far an instruction goes on in vain before its run ends
 * @insn:	the instruction of that number
 * @nr_states:	in how many states it runs
 * @size:	how many bytes see() fills in; NULL for none
 * @tries:	whether a run makes sense; NULL if all do
 * @set_up:	sets good registers, and what these lead to. The same for each run in a state
 * @spoil:	has these registers lead to where nothing is, as the trial says
 * @run:	goes there, with what set_up() has not loaded; NULL for diff_trip()
 * @see:	looks at memory and other state after a run, if there is more than registers
 * @check:	what else is to be expected of a hit, or NULL
 */
struct diff_lab {
	int			nr;
	int			padding;
	struct diff_insn	*(*insn)(int i);
	int			(*nr_states)(int i);
	size_t			(*size)(int i);
	bool			(*tries)(const struct diff_run *run);
	void			(*set_up)(const struct diff_run *run, struct pt_regs *regs);
	void			(*spoil)(const struct diff_run *run, struct pt_regs *regs);
	void			(*run)(struct pt_regs *regs);
	void			(*see)(const struct diff_run *run, const struct pt_regs *regs,
				       void *seen);
	void			(*check)(struct kunit *test, const struct diff_run *run);
};

/* The most that see() may fill in */
#define DIFF_SEEN_SIZE	4096

/* What handlers have seen of a run, and what the fault handler is to do; see diff_regs() */
struct diff_hit {
	struct pt_regs		pre;
	struct pt_regs		post;
	struct pt_regs		fault;
	unsigned int		pres;
	unsigned int		posts;
	unsigned int		faults;
	bool			trapped;
	int			trapnr;
	unsigned long		next;
	const struct pt_regs	*repaired;
};

extern struct diff_hit diff_hit;

/* An array for a case. It is zeroed. */
void *diff_array(struct kunit *test, size_t n, size_t size);

/* Keeps the case on one CPU, as what instructions use may be the CPU's. */
void diff_stay(struct kunit *test);

/* Has all instructions run natively. Before diff_plant() */
void diff_run_natively(struct kunit *test, const struct diff_lab *lab);

/* Probes on all instructions, with a post handler or without; at the end of a case they go. */
void diff_plant(struct kunit *test, const struct diff_lab *lab, bool post);
void diff_drop(bool post);

/* Has them run once more, @trials (a mask) in each state. Stops after the first that differs. */
void diff_run_probed(struct kunit *test, const struct diff_lab *lab, unsigned long trials,
		     bool jump, bool post);

/* Has an instruction run natively, has @how do the same with its registers, and compares. */
void diff_expect_same(struct kunit *test, const struct diff_lab *lab, struct diff_run *run,
		      void (*how)(struct kunit *test, const struct diff_run *run,
				  struct pt_regs *regs));

/* Allows jumps, or not, for the rest of the case; skips it where that cannot be said. */
void diff_allow_jumps(struct kunit *test, bool allow);

/* --- per architecture --- */

/* What pre handlers are told of the instruction pointer, relative to the instruction */
#ifdef CONFIG_X86
#define DIFF_PRE_IP	1
#else
#define DIFF_PRE_IP	0
#endif

/* Goes to an instruction with these registers, and returns with those behind it. */
void diff_trip(struct pt_regs *regs);

/* Copies registers that instructions use, the flags, and the instruction pointer. */
void diff_load(struct pt_regs *to, const struct pt_regs *from);

/* The same as far as it is compared: the rest is zero. */
void diff_regs(struct pt_regs *to, const struct pt_regs *from);

/* Is there a jump in its place? */
bool diff_is_jump(const struct diff_insn *insn);

/* Has a breakpoint called this handler? */
bool diff_by_trap(void);

#endif /* _KPROBES_TESTS_DIFF_H */
