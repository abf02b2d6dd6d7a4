/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What crosses the border between the light watch's program and the process that
 * reads it. Times are ns; moments are of CLOCK_MONOTONIC.
 */
#ifndef ARTIS_WATCH_H
#define ARTIS_WATCH_H

/* Threads that are kept at a time; a power of two. Each takes 3.5 KiB. */
#define WATCH_THREADS 256
/* Places that are tried for a thread before it is one too many. */
#define WATCH_TRIES 16
/* Processes or threads that can be asked for by number. */
#define WATCH_WANTED 64
/* CPUs of a machine. */
#define WATCH_CPUS_MAX 1024
/* Wakeups above the bound that the reader has not seen yet; a power of two. */
#define WATCH_ALERTS 64
#define WATCH_NAME 16

/*
 * A histogram: WATCH_SUB buckets of equal width below 2^WATCH_FIRST ns, and as many in
 * each power of two from there on. A bucket is at most an eighth of its values wide.
 */
#define WATCH_SUB_BITS 3
#define WATCH_SUB 8
#define WATCH_FIRST 10
#define WATCH_LAST 34
#define WATCH_BUCKETS 208

/* One watched thread. Written by the CPU that it leaves; one at a time does. */
struct watch_thread {
	u32 tid;		/* 0: this place is free */
	u32 tgid;
	u64 started_ns;		/* when it began: the kernel reuses numbers */
	char name[WATCH_NAME];
	u32 policy;
	s32 prio;		/* as the kernel has it: 99 - priority, -1 of a deadline task */
	u32 cpu;		/* that it left last */
	u32 asleep;		/* it left asleep when it left last */
	s64 due;		/* of the timer that it sleeps for, by that timer's clock */
	u32 due_known;
	u32 clock;		/* which clock: a place in the kernel's list of them */
	u64 run_delay_ns;	/* its account when it left asleep last */
	u64 arrivals;
	u64 above;		/* wakeups above the bound */
	u64 unseen;		/* wakeups whose first arrival was not seen */
	u64 left_ns;		/* when it left last */
	u64 late_ns_max;
	u64 queued_ns_max;
	u64 late[WATCH_BUCKETS];	/* after the due time of the timer that woke it */
	u64 queued[WATCH_BUCKETS];	/* other wakeups: from runnable to running */
};

/* A wakeup above the bound. */
struct watch_alert {
	u64 number;		/* counted from 1; written last */
	u64 arrived_ns;
	u64 value_ns;
	u32 bucket;
	u32 by_timer;		/* late; else only queued */
	u32 tid;
	u32 tgid;
	u32 cpu;
	char name[WATCH_NAME];
};

#endif /* ARTIS_WATCH_H */
