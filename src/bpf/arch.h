/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that artis' BPF programs know of the processor: x86-64. What Rust knows of it
 * is in src/machine/arch.rs. To port artis, begin with these two.
 */
#ifndef ARTIS_ARCH_H
#define ARTIS_ARCH_H

/* arch/x86/kernel/signal.c: what delivers signals on the way to user mode */
#define ARCH_DELIVERS_SIGNALS "arch_do_signal_or_restart"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long cs;
};

#pragma clang attribute pop

/* The number of the system call that saved @regs; negative: something else did. */
#define ARCH_CALL(regs) ((long)(regs)->orig_ax)
/* The first three arguments of a system call. */
#define ARCH_ARGUMENT_1(regs) BPF_CORE_READ(regs, di)
#define ARCH_ARGUMENT_2(regs) BPF_CORE_READ(regs, si)
#define ARCH_ARGUMENT_3(regs) BPF_CORE_READ(regs, dx)
/* Did what saved @regs interrupt user mode? The lowest two bits of cs are the privilege. */
#define ARCH_IN_USER_MODE(regs) ((BPF_CORE_READ(regs, cs) & 3) == 3)
/*
 * Will a CPU with this __preempt_count of so many bytes look for its next task as soon as
 * preemption is on? The kernel keeps that in the highest bit, inverted.
 */
#define ARCH_WILL_RESCHEDULE(count, bytes) (!((count)[(bytes) - 1] & 0x80))

#endif /* ARTIS_ARCH_H */
