/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_GENERIC_KPROBES_H
#define _ASM_GENERIC_KPROBES_H

/*
 * Keeping functions out of reach of probes. Linker scripts, modpost and objtool know the
 * names of the sections.
 */
#if defined(__KERNEL__) && !defined(__ASSEMBLY__)
#ifdef CONFIG_KPROBES

/* Records the address of @fn in a section that is added to the blacklist at boot. */
#define __NOKPROBE_SYMBOL(fn)						\
	static unsigned long _kbl_addr_##fn				\
	__section("_kprobe_blacklist") __used = (unsigned long)(fn);
/* The extra level expands @fn when it is itself a macro. */
#define NOKPROBE_SYMBOL(fn)	__NOKPROBE_SYMBOL(fn)

/* Puts a function into a section that can be neither probed nor traced. */
#define __kprobes		notrace __section(".kprobes.text")

/* An out-of-line copy would be a symbol of its own, and could be probed. */
#define nokprobe_inline		__always_inline

#else /* !CONFIG_KPROBES */

#define NOKPROBE_SYMBOL(fn)
#define __kprobes
#define nokprobe_inline		inline

#endif /* CONFIG_KPROBES */
#endif /* __KERNEL__ && !__ASSEMBLY__ */

#endif /* _ASM_GENERIC_KPROBES_H */
