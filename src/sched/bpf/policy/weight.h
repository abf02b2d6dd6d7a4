/* SPDX-License-Identifier: GPL-2.0-only */
/* What a task weighs, and virtual time by that. Part of policy.h. */
#ifndef ARTIS_POLICY_WEIGHT_H
#define ARTIS_POLICY_WEIGHT_H

/* The kernel's own weights, by nice value: sched_prio_to_weight[] of kernel/sched/core.c. */
static const u32 artis_kernel_weights[] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548,  7620,  6100,  4904,  3906,  3121,  2501,	 1991,	1586,  1277,
	1024,  820,   655,   526,   423,   335,	  272,	 215,	172,   137,
	110,   87,    70,    56,    45,	   36,	  29,	 23,	18,    15,
};

/*
 * The weight of a task in all that concerns shares: the kernel's, on the scale on which nice 0 is
 * ARTIS_WEIGHT_NICE_0. sched_ext's own is coarse: SCHED_IDLE, which weighs a fifth of nice 19, is
 * 1 there as that is.
 */
static inline u32 artis_task_weight(u32 policy, u32 static_prio)
{
	u32 last = sizeof(artis_kernel_weights) / sizeof(*artis_kernel_weights) - 1;
	u32 nth = static_prio - 100;
	u32 kernels = ARTIS_WEIGHT_KERNEL_IDLE;

	if (policy != ARTIS_POLICY_IDLE)
		kernels = artis_kernel_weights[nth > last ? 0 : nth];
	return (kernels * ARTIS_WEIGHT_NICE_0 + ARTIS_WEIGHT_KERNEL_NICE_0 / 2) /
	       ARTIS_WEIGHT_KERNEL_NICE_0;
}

/*
 * Virtual time for @ran_ns at @weight, see artis_task_weight(). Most tasks have nice 0, and each
 * wakeup asks a few times: no division then.
 */
static inline u64 artis_vtime_charge(u64 ran_ns, u32 weight)
{
	if (weight == ARTIS_WEIGHT_NICE_0)
		return ran_ns;
	return ran_ns * ARTIS_WEIGHT_NICE_0 / (weight ? weight : 1);
}

#endif /* ARTIS_POLICY_WEIGHT_H */
