/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the observer counts on each CPU. The only statement of it: Rust gets
 * these types through the generated skeleton.
 */
#ifndef ARTIS_OCCUPANCY_H
#define ARTIS_OCCUPANCY_H

/* CPUs a machine may have; a larger one is refused when the observer is loaded. */
#define OCCUPANCY_CPUS_MAX 1024

/* Who has the CPU. */
enum occupancy_class {
	OCCUPANCY_IDLE,
	OCCUPANCY_RT0,		/* user tasks of the kernel's rt and deadline classes */
	OCCUPANCY_KTHREAD,
	OCCUPANCY_OTHER,	/* user tasks of all other classes */
	OCCUPANCY_CLASSES,
};

/*
 * One CPU, written by that CPU only; aligned so that no two share a cache line.
 *
 * The first part counts dealings with the kernel of user tasks other than RT0.
 * "Begun": the entry was seen on this CPU. "Worked": the kernel's work for it
 * started on this CPU. "Returned": it was on this CPU at its end, wherever it
 * began.
 */
struct occupancy_cpu {
	u64 syscalls_begun;
	u64 syscalls_worked;
	u64 syscalls_returned;
	u64 faults_begun;
	u64 faults_worked;
	u64 signals_begun;
	u64 signals_worked;
	u64 ran_ns[OCCUPANCY_CLASSES];	/* up to since_ns */
	u64 since_ns;			/* CLOCK_MONOTONIC of the last switch; 0: none seen */
	u64 changes;			/* odd while ran_ns, since_ns and class are being changed */
	enum occupancy_class class;	/* of the task that runs since then */
} __attribute__((aligned(64)));

#endif /* ARTIS_OCCUPANCY_H */
