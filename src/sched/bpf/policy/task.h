/* SPDX-License-Identifier: GPL-2.0-only */
/* Who is who, and what is known of a task. Part of policy.h. */
#ifndef ARTIS_POLICY_TASK_H
#define ARTIS_POLICY_TASK_H

/* Policies of the kernel that mean something here: include/uapi/linux/sched.h. */
enum artis_kernel_policy {
	ARTIS_POLICY_FIFO = 1,
	ARTIS_POLICY_RR = 2,
	ARTIS_POLICY_IDLE = 5,
	ARTIS_POLICY_DEADLINE = 6,
	ARTIS_POLICY_EXT = 7,	/* how a task asks to be RT1+ */
};

/* What a task is to the scheduler. RT0 tasks are in a class above it, and it never sees them. */
enum artis_class {
	ARTIS_CLASS_LINUX,
	ARTIS_CLASS_RT1,
	ARTIS_CLASS_KTHREAD,
	ARTIS_CLASS_NONE,	/* on a CPU: no task of the scheduler */
	ARTIS_CLASSES = ARTIS_CLASS_NONE,
};

/* Where the affinity of a task lets it run. */
enum artis_affinity {
	ARTIS_AFFINITY_ANY,	/* on RT and NRT CPUs */
	ARTIS_AFFINITY_ONE,	/* on one CPU */
	ARTIS_AFFINITY_RT,	/* on several, all RT */
	ARTIS_AFFINITY_NRT,	/* on several, none RT */
};

/* A task of the classes above ours: RT0 on an RT CPU, free to do what it likes. */
static inline bool artis_is_rt0(u32 policy)
{
	return policy == ARTIS_POLICY_FIFO || policy == ARTIS_POLICY_RR ||
	       policy == ARTIS_POLICY_DEADLINE;
}

/* The kernel's other normal policies are Linux tasks. */
static inline enum artis_class artis_classify(u32 policy, bool kthread)
{
	if (kthread)
		return ARTIS_CLASS_KTHREAD;
	return policy == ARTIS_POLICY_EXT ? ARTIS_CLASS_RT1 : ARTIS_CLASS_LINUX;
}

static inline bool artis_is_ours(enum artis_class class)
{
	return class != ARTIS_CLASS_NONE;
}

static inline bool artis_is_rt1(enum artis_class class)
{
	return class == ARTIS_CLASS_RT1;
}

/* Is the time that tasks of this class wait for a CPU recorded? */
static inline bool artis_wait_is_noted(enum artis_class class)
{
	return class == ARTIS_CLASS_LINUX;
}

/* @cpus: how many CPUs the task may use; @nrt, @rt: whether such ones are among them. */
static inline enum artis_affinity artis_affinity(u32 cpus, bool nrt, bool rt)
{
	if (cpus == 1)
		return ARTIS_AFFINITY_ONE;
	if (!nrt)
		return ARTIS_AFFINITY_RT;
	return rt ? ARTIS_AFFINITY_ANY : ARTIS_AFFINITY_NRT;
}

/*
 * The state of a task: where it belongs, and why. Nobody is in user mode for
 * certain but who is found there by a tick; from then on each entry into the
 * kernel is seen, as long as the task is on RT CPUs.
 *
 *   state      meaning                            leaves it
 *   NRT        may be in the kernel, so it        to PROMOTED: tick of an NRT CPU
 *              belongs on NRT CPUs                to LEAVES_UNKNOWN: tick of an RT CPU
 *   PROMOTED   in user mode on an NRT CPU, and    to RT: queued for the RT CPUs
 *              wanted on an RT CPU                to NRT: ran on before that
 *   STOPPED    found in user mode by a tick when  to NRT: runs again
 *              its cgroup had used up its time:
 *              waits for more, or for a CPU
 *   RT         in user mode; queued for the RT    to LEAVES_*: an entry into the kernel
 *              CPUs, or on one                    to NRT: queued for the NRT CPUs
 *   LEAVES_*   on an RT CPU and in the kernel     to NRT: queued for the NRT CPUs
 *              for the reason named: it must go   to RT: seen to return to user mode
 *
 * Everywhere: running on an NRT CPU makes it NRT. A task that is set free from an
 * RT CPU becomes LEAVES_AFFINITY, since what it did there was its right; what it
 * still does of that is no leak. While a task is bound, its state means nothing.
 *
 * Apart from the state, because each changes for its own reasons: the affinity;
 * the side on which its virtual time counts; whether it is on a CPU for the
 * account (it runs, or RT0 displaced it and it goes on afterwards).
 */
enum artis_state {
	ARTIS_STATE_NRT,
	ARTIS_STATE_PROMOTED,
	ARTIS_STATE_STOPPED,
	ARTIS_STATE_RT,
	ARTIS_STATE_LEAVES_SYSCALL,
	ARTIS_STATE_LEAVES_FAULT,
	ARTIS_STATE_LEAVES_SIGNAL,
	ARTIS_STATE_LEAVES_TRACER,
	ARTIS_STATE_LEAVES_AFFINITY,
	ARTIS_STATE_LEAVES_UNKNOWN,
};

/* What a rule may ask of a task. */
struct artis_task_view {
	enum artis_class class;
	enum artis_affinity affinity;
	enum artis_state state;
	bool fixed;		/* it may not change CPU now: the kernel disabled its migration */
	bool wakes;		/* it becomes runnable because it wakes up */
	bool handed_back;	/* ... because a long burst of RT0 displaces it */
	bool immed;		/* ... if so, at once: this is on RT0's way */
	bool makes_way;		/* promoted because another one is to come before it */
};

/* Is it allowed on the CPUs it has, whatever it does there? Its affinity leaves no choice. */
static inline bool artis_is_bound(enum artis_affinity affinity)
{
	return affinity == ARTIS_AFFINITY_ONE || affinity == ARTIS_AFFINITY_RT;
}

static inline bool artis_is_leaving(enum artis_state state)
{
	return state >= ARTIS_STATE_LEAVES_SYSCALL;
}

/* Did a task that leaves for this reason enter the kernel? */
static inline bool artis_is_entry(enum artis_state state)
{
	return artis_is_leaving(state) && state <= ARTIS_STATE_LEAVES_TRACER;
}

/* Did the task begin a system call on an RT CPU? */
static inline bool artis_is_in_syscall(enum artis_state state)
{
	return state == ARTIS_STATE_LEAVES_SYSCALL;
}

/* Is the task, on an RT CPU, in the kernel or about to be? Then it must not go on there. */
static inline bool artis_must_leave(const struct artis_task_view *task)
{
	return !artis_is_bound(task->affinity) && !task->fixed && task->state != ARTIS_STATE_RT;
}

/* It begins to run, or goes on after RT0. */
static inline enum artis_state artis_state_running(enum artis_state state, bool rt_cpu)
{
	if (state == ARTIS_STATE_PROMOTED || state == ARTIS_STATE_STOPPED)
		return ARTIS_STATE_NRT;
	return rt_cpu ? state : ARTIS_STATE_NRT;
}

/* A tick of its RT CPU: it was here before us or came around us, so nobody knows where it is. */
static inline enum artis_state artis_state_tick_rt(const struct artis_task_view *task)
{
	if (artis_must_leave(task) && !artis_is_leaving(task->state))
		return ARTIS_STATE_LEAVES_UNKNOWN;
	return task->state;
}

/* It returns to user mode on its RT CPU after a system call that it made there. */
static inline enum artis_state artis_state_returned(enum artis_state state)
{
	return state == ARTIS_STATE_LEAVES_SYSCALL ? ARTIS_STATE_RT : state;
}

/*
 * Its affinity changes from @before to @after. On an RT CPU a task that was bound
 * may be in the kernel; set free, it must not be taken for one in user mode.
 */
static inline enum artis_state artis_state_affinity(enum artis_state state, bool rt_cpu,
						    enum artis_affinity before,
						    enum artis_affinity after)
{
	if (artis_is_bound(after))
		return artis_is_leaving(state) || (rt_cpu && artis_is_bound(before)) ?
			       ARTIS_STATE_NRT :
			       state;
	return rt_cpu && artis_is_bound(before) ? ARTIS_STATE_LEAVES_AFFINITY : state;
}

/* Is it to leave at once because its affinity changed while it runs? */
static inline bool artis_affinity_evicts(enum artis_state state)
{
	return state == ARTIS_STATE_LEAVES_AFFINITY;
}

#endif /* ARTIS_POLICY_TASK_H */
