// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the arguments of jprobes, through what modules can call: for
 * functions of many prototypes, a handler sees the arguments of the call, and can
 * change them without effect on the function.
 */
#include "support/jprobe.h"

/* The arguments of a call, as the function and the handler see them, and its result */
struct view {
	u64 values[2][16], result[4] __aligned(16);
	unsigned int runs[2], preemptible;
};

enum { FUNCTION, HANDLER };

/* A call as it is, and as it must be without a jprobe and with one */
static struct view view, unprobed, probed;

/* Notes the arguments of a call, and returns a hash of them. */
static u64 note(unsigned int who, const u64 *values)
{
	unsigned int i;
	u64 sum = 0;

	view.runs[who]++;
	view.preemptible |= who == HANDLER && preemptible();
	memcpy(view.values[who], values, sizeof(view.values[who]));
	for (i = 0; i < ARRAY_SIZE(view.values[who]); i++)
		sum = sum * 31 + values[i];
	return sum;
}

static enum { JPROBE_RETURN, PLAIN_RETURN, DEEP_RETURN } ending;
static bool changing;

static noinline void change_all(u8 **places)
{
	for (; *places; places++)
		**places ^= 0xff;
	barrier();
}

static __always_inline void end_handler(void)
{
	if (ending == JPROBE_RETURN)
		leave();
	else if (ending == DEEP_RETURN)
		leave_from_deep(2);
}

/*
 * arm64 passes a larger struct as the address of a copy. The handler gets the same
 * address, so it must not change the copy.
 */
#define BY_VALUE_MAX	(IS_ENABLED(CONFIG_ARM64) ? 16 : SIZE_MAX)

static u8 nowhere;

#define VALUES(...)	((const u64[16]) { __VA_ARGS__ })
#define PLACE(x)	(sizeof(x) > BY_VALUE_MAX ? &nowhere : (u8 *)&(x))
#define change(...)	change_all((u8 *[]) { __VA_ARGS__, NULL })

/* On 32-bit x86, this passes arguments in other registers than usual, and asmlinkage in none. */
#ifdef CONFIG_X86_32
#define fastcall	__attribute__((fastcall))
#else
#define fastcall
#endif

/*
 * Makes, for a prototype: a function that ftrace can trace and one that it cannot; a
 * handler, whose result is wrong; and a function that calls with given @arguments. The
 * handler can change what is at @places. Last come the arguments as numbers.
 */
#define PATTERN_AS(convention, name, type, params, arguments, places, ...)	\
static noinline __noclone convention type name##_traced params		\
{									\
	return (type) { note(FUNCTION, VALUES(__VA_ARGS__)) };		\
}									\
									\
static noinline __noclone notrace convention type name##_untraced params	\
{									\
	return (type) { note(FUNCTION, VALUES(__VA_ARGS__)) };		\
}									\
									\
static convention type name##_handler params				\
{									\
	u64 sum = note(HANDLER, VALUES(__VA_ARGS__));			\
									\
	if (changing)							\
		change places;						\
	end_handler();							\
	return (type) { ~sum };						\
}									\
									\
static noinline void name##_call(void *function, void *result)		\
{									\
	type (convention *call) params = function;			\
									\
	*(type *)result = call arguments;				\
}

#define PATTERN(...)	PATTERN_AS(, __VA_ARGS__)

PATTERN(registers, long, (long a, long b, long c, long d, long e, long f),
	(11, -12, 13, -14, 15, -16),
	(PLACE(a), PLACE(b), PLACE(c), PLACE(d), PLACE(e), PLACE(f)), a, b, c, d, e, f)

PATTERN(ten_longs, u32,
	(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j),
	(-21, 22, -23, 24, -25, 26, -27, 28, -29, 30),
	(PLACE(a), PLACE(b), PLACE(c), PLACE(d), PLACE(e), PLACE(f), PLACE(g), PLACE(h),
	 PLACE(i), PLACE(j)), a, b, c, d, e, f, g, h, i, j)

PATTERN(mixed, u16,
	(u8 a, u16 b, u32 c, u64 d, bool e, const void *f, s8 g, s16 h, s32 i, u64 j, bool k,
	 const char *l),
	(0xf1, 0xf234, 0xf3456789, 0xf4567890abcdef12, true, &view, -7, -808, -9090909,
	 0xfa12345678901234, true, "twelve"),
	(PLACE(a), PLACE(b), PLACE(c), PLACE(d), PLACE(e), PLACE(f), PLACE(g), PLACE(h),
	 PLACE(i), PLACE(j), PLACE(k), PLACE(l)),
	a, b, c, d, e, (uintptr_t)f, g, h, i, j, k, (uintptr_t)l)

struct small {
	u64 a;
	u32 b;
};

struct large {
	u64 a, b, c;
};

/* The result is returned in memory, so there is a hidden argument, too. */
PATTERN(structs, struct large,
	(struct small s, u32 t, struct large u, struct small v, long w, struct small x, long y),
	((struct small) { 31, 32 }, 33, (struct large) { 34, 35, 36 }, (struct small) { 37, 38 },
	 39, (struct small) { 40, 41 }, 42),
	(PLACE(s), PLACE(t), PLACE(u), PLACE(v), PLACE(w), PLACE(x), PLACE(y)),
	s.a, s.b, t, u.a, u.b, u.c, v.a, v.b, w, x.a, x.b, y)

/* The widest integer type */
#ifdef CONFIG_ARCH_SUPPORTS_INT128
#define WIDE		u128
#else
#define WIDE		u64
#endif

#define HALF_BITS	(BITS_PER_BYTE / 2 * sizeof(WIDE))
#define HALVES(high, low)	((WIDE)(high) << HALF_BITS | (low))

/* Where an argument of two words has to be aligned to two words, there are holes before it. */
PATTERN(holes, WIDE,
	(long a, long b, long c, long d, long e, WIDE f, long g, long h, WIDE i, long j, WIDE k,
	 long l),
	(51, 52, 53, 54, 55, HALVES(56, 57), 58, 59, HALVES(60, 61), 62, HALVES(63, 64), 65),
	(PLACE(a), PLACE(b), PLACE(c), PLACE(d), PLACE(e), PLACE(f), PLACE(g), PLACE(h),
	 PLACE(i), PLACE(j), PLACE(k), PLACE(l)),
	a, b, c, d, e, f, f >> HALF_BITS, g, h, i, i >> HALF_BITS, j, k, k >> HALF_BITS, l)

/* On the stack, this is as large as the part that is copied for a handler. */
struct block {
	u64 word[32];
};

PATTERN(block, u8, (long a, struct block b),
	(71, (struct block) { { [0] = 72, [1] = 73, [15] = 74, [30] = 75, [31] = 76 } }),
	(PLACE(a), PLACE(b)), a, b.word[0], b.word[1], b.word[15], b.word[30], b.word[31])

PATTERN_AS(asmlinkage, asmlinkage, u32, (u32 a, u64 b, s16 c, long d),
	   (81, 82ULL << 40, -83, 84), (PLACE(a), PLACE(b), PLACE(c), PLACE(d)), a, b, c, d)

/* The callee pops the arguments on the stack. */
PATTERN_AS(fastcall, fastcall, u64, (u32 a, u32 b, u32 c, u64 d, u32 e),
	   (91, 92, 93, 94ULL << 40, 95),
	   (PLACE(a), PLACE(b), PLACE(c), PLACE(d), PLACE(e)), a, b, c, d, e)

struct pattern {
	const char *name;
	bool traced;
	void (*call)(void *function, void *result);
	void *function, *handler;
};

#define PATTERN_OF(name, kind, traced) \
	{ #name ", " #kind, traced, name##_call, name##_##kind, name##_handler }

static const struct pattern patterns[] = {
	PATTERN_OF(registers, traced, true), PATTERN_OF(registers, untraced, false),
	PATTERN_OF(ten_longs, traced, true), PATTERN_OF(ten_longs, untraced, false),
	PATTERN_OF(mixed, traced, true), PATTERN_OF(mixed, untraced, false),
	PATTERN_OF(structs, traced, true), PATTERN_OF(structs, untraced, false),
	PATTERN_OF(holes, traced, true), PATTERN_OF(holes, untraced, false),
	PATTERN_OF(block, traced, true), PATTERN_OF(block, untraced, false),
	PATTERN_OF(asmlinkage, traced, true), PATTERN_OF(asmlinkage, untraced, false),
	PATTERN_OF(fastcall, traced, true), PATTERN_OF(fastcall, untraced, false),
};

KUNIT_ARRAY_PARAM_DESC(pattern, patterns, name);

static void call_pattern(const struct pattern *pattern)
{
	memset(&view, 0, sizeof(view));
	pattern->call(pattern->function, view.result);
}

/* Called without a jprobe: what the function sees then, it must always see. */
static void learn_pattern(struct kunit *test, const struct pattern *pattern)
{
	kprobes_text_watch(test, pattern->function);
	call_pattern(pattern);
	KUNIT_ASSERT_EQ(test, view.runs[FUNCTION], 1);
	unprobed = view;
	probed = view;
	memcpy(probed.values[HANDLER], view.values[FUNCTION], sizeof(probed.values[HANDLER]));
	probed.runs[HANDLER] = 1;
}

static void expect_views(struct kunit *test, const struct pattern *pattern)
{
	struct jprobe *jp = jprobe_registered(test, pattern->function, pattern->handler);
	unsigned int i;

	KUNIT_EXPECT_EQ_MSG(test, kprobe_ftrace(&jp->kp),
			    pattern->traced && IS_ENABLED(CONFIG_KPROBES_ON_FTRACE),
			    "not the kind of entry it is meant to be");
	for (i = 0; i < KPROBES_CALLS; i++) {
		call_pattern(pattern);
		KUNIT_EXPECT_MEMEQ_MSG(test, &view, &probed, sizeof(view),
				       "changing %d, ending %d", changing, ending);
	}
	unregister_jprobe(jp);
	call_pattern(pattern);
	KUNIT_EXPECT_MEMEQ(test, &view, &unprobed, sizeof(view));
}

/* A handler sees the arguments, with preemption off. It changes them, and ends in each way. */
static void function_sees_nothing_of_the_handler(struct kunit *test)
{
	const struct pattern *pattern = test->param_value;

	learn_pattern(test, pattern);
	expect_views(test, pattern);
	changing = true;
	for (ending = JPROBE_RETURN; ending <= DEEP_RETURN; ending++)
		expect_views(test, pattern);
}

#ifdef CONFIG_KRETPROBES
/* A function may pop its arguments when it returns. Two probes follow it. */
static void function_that_is_followed_gets_the_same_arguments(struct kunit *test)
{
	const struct pattern *pattern = test->param_value;
	struct return_probe *followers[2];
	unsigned int i;

	learn_pattern(test, pattern);
	for (i = 0; i < 2; i++)
		followers[i] = return_probe_with(test, pattern->function);
	call_pattern(pattern);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&followers[i]->returns), 1);
	expect_views(test, pattern);
}
#endif

static int arguments_init(struct kunit *test)
{
	ending = JPROBE_RETURN;
	changing = false;
	return 0;
}

static struct kunit_case jprobe_arguments_cases[] = {
	KUNIT_CASE_PARAM(function_sees_nothing_of_the_handler, pattern_gen_params),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE_PARAM(function_that_is_followed_gets_the_same_arguments, pattern_gen_params),
#endif
	{}
};

static struct kunit_suite jprobe_arguments_suite = {
	.name = "kprobes_jprobe_arguments",
	.init = arguments_init,
	.exit = expect_none_came_back,
	.test_cases = jprobe_arguments_cases,
};

kunit_test_suite(jprobe_arguments_suite);

MODULE_DESCRIPTION("KUnit tests of the arguments of jprobes");
MODULE_LICENSE("GPL");
