/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel tells a measuring thread of its last wakeup. The only
 * statement of it: Rust gets these types through the generated skeleton.
 */
#ifndef ARTIS_SPLIT_H
#define ARTIS_SPLIT_H

/*
 * One measuring thread; aligned so that no two share a cache line. Written in
 * the kernel before the thread is made runnable, read by the thread itself when
 * it runs again. Times are CLOCK_MONOTONIC.
 */
struct split_slot {
	u64 wakeups;	/* by a timer, so far */
	u64 due_ns;	/* when the timer should have expired */
	u64 handler_ns;	/* when the kernel began to handle its expiry */
} __attribute__((aligned(64)));

#endif /* ARTIS_SPLIT_H */
