/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What crosses the border between jobs.bpf.c and its reader.
 */
#ifndef ARTIS_JOBS_H
#define ARTIS_JOBS_H

/* What was seen of a thread's jobs; times in ns of CLOCK_MONOTONIC. */
struct jobs_thread {
	u64 budget_ns;		/* set by the reader, as the next three */
	u64 period_ns;		/* the least distance of two events; not 0 */
	u64 jitter_ns;		/* a job may be released so much later than its event */
	u64 watched_ns;		/* since when */
	u64 jobs;		/* that ended */
	u64 overruns;		/* of those, that executed longer than the budget */
	u64 merged;		/* of those, that may be several: longer than the period */
	u64 execution_ns_max;	/* of those that may be several: for each */
	u64 response_ns_max;	/* from the wakeup to the end, at most the period */
	u64 distance_ns_min;	/* from one wakeup that begins a job to the next; 0: not seen */
	u64 began_ns;		/* of the job that is not over; 0: there is none */
	u64 last_ns;		/* when the last job began; 0: not seen */
	u64 executed_ns;	/* of the job that is not over, without the stretch that runs */
	u64 on_ns;		/* since when it has the CPU; 0: it has not */
};

#endif /* ARTIS_JOBS_H */
