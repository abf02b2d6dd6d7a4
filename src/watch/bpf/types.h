/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the light watch reads of the kernel beyond kernel.h: other members of the same
 * types. CO-RE leaves out of a name what follows three underscores.
 */
#ifndef ARTIS_WATCH_TYPES_H
#define ARTIS_WATCH_TYPES_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_info___watch {
	unsigned long pcount;
	u64 run_delay;
	u64 last_arrival;
};

struct task_struct___watch {
	struct sched_info___watch sched_info;
	u64 start_boottime;
	u32 on_rq;		/* a byte on newer kernels: only what is unsigned may shrink */
};

struct rb_node___watch {
	struct rb_node___watch *rb_right;
	struct rb_node___watch *rb_left;
};

struct rb_root___watch {
	struct rb_node___watch *rb_node;
};

/* with or without a list beside the tree */
struct rb_root_both___watch {
	struct rb_root___watch rb_root;
};

struct timerqueue_both___watch {
	struct rb_root_both___watch rb_root;
};

struct hrtimer_clock_base___watch {
	s32 clockid;
	s64 offset;
	struct timerqueue_both___watch active;
};

struct hrtimer_cpu_base___watch {
	u32 cpu;
	struct hrtimer_clock_base___watch clock_base[8];
};

struct hrtimer___watch {
	s64 _softexpires;
	void *function;
};

/* its first member is the timer, and the first of that its node in the tree */
struct hrtimer_sleeper___watch {
	struct hrtimer___watch timer;
	const struct task_struct *task;
};

#pragma clang attribute pop

#endif /* ARTIS_WATCH_TYPES_H */
