/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the observer counts on each CPU. The only statement of it: Rust gets
 * these types through the generated skeleton.
 */
#ifndef ARTIS_LEAKS_H
#define ARTIS_LEAKS_H

/* CPUs a machine may have; a larger one is refused when the observer is loaded. */
#define LEAKS_CPUS_MAX 1024

/*
 * One CPU, written by that CPU only; aligned so that no two share a cache line.
 * The kernel's work for user tasks other than RT0 which started here.
 */
struct leaks_cpu {
	u64 syscalls;
	u64 syscalls_returned;	/* were here at their end, wherever they began */
	u64 faults;
	u64 signals;
} __attribute__((aligned(64)));

#endif /* ARTIS_LEAKS_H */
