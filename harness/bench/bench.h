/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KPROBE_BENCH_H
#define KPROBE_BENCH_H

#include <linux/kprobes.h>

#ifdef CONFIG_X86
#include "x86.h"
#else
#include "arm64.h"
#endif

/* What a case attaches; each of them has one handler, which counts its calls. */
enum {
	PRE = 1,
	POST = 2,
	RETURN = 4,
	ENTRY = 8,		/* of the return probe */
	JPROBE = 16,
	FTRACE = 32,
	FTRACE_REGS = 64,
	FPROBE_ENTRY = 128,
	FPROBE_EXIT = 256,
};

struct bench_case {
	const char *name;
	void (*target)(void);	/* NULL: a site, as those that a crowd stands at */
	int offset;
	unsigned int what;
	/* before anything was attached: what calls cost, what stands there */
	u64 plain;
	u64 text;
};

/* main.c */
extern char *bench_set;
extern bool bench_optimized;
extern unsigned long bench_hits;

u64 timed_calls(void (*target)(void), int calls);
void wait_optimized(void **addrs, int num);
void init_kprobe(struct kprobe *p, void *addr, unsigned int what);
void init_kretprobe(struct kretprobe *rp, void *addr, unsigned int what);

/* What a report says of any case. */
#define CASE_FORMAT "case=%s set=%s calls=%d handlers=%u hits=%lu insns=%lld marked=%d"

/* targets.c */
extern struct bench_case target_cases[];

void init_targets(void);
void bench_function(void);

/* cases.c */
void run_cases(void);

/* crowd.c */
int open_sites(void);
void close_sites(void);
void *site(int i);
void *first_site(void);
int register_crowd(int num);
void unregister_crowd(void);
void run_samples(void);
int run_singles(void);

/* attach.c */
int run_attach(const int *counts, unsigned int nr_counts);
int run_named(char **names, unsigned int num);

/* wall.c */
int run_wall(void);

#endif
