/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who is watched: children of watched threads, and threads by their names.
 */
#ifndef ARTIS_RECORDER_THREADS_H
#define ARTIS_RECORDER_THREADS_H

static bool is_wanted(const char *name)
{
	u32 i;

	if (!wanted_length)
		return false;
	for (i = 0; i < RECORDER_NAME; i++) {
		if (i >= wanted_length)
			return wanted_begin || !name[i];
		if (name[i] != wanted[i])
			return false;
	}
	return true;
}

/* From now on a thread is watched that does not run yet, or runs here. */
static void watch(u32 tid, u16 follow)
{
	struct recorder_thread fresh = {};

	fresh.follow = follow;
	fresh.in_call = RECORDER_NOT_SEEN;
	fresh.call = -1;
	__sync_fetch_and_or(&numbers[tid % RECORDER_NUMBERS / 64], 1ULL << tid % 64);
	bpf_map_update_elem(&threads, &tid, &fresh, 0);
	if (bpf_get_current_task_btf()->pid == (s32)tid)
		this_cpu()->watched = tid;
}

/* A number that was a watched thread's is another's now; children of a watched one are watched. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct recorder_thread *thread = thread_of(parent->pid);
	char name[RECORDER_NAME] __attribute__((aligned(8)));
	u32 tid = child->pid;

	if (may_be_watched(tid))
		bpf_map_delete_elem(&threads, &tid);
	name_of(name, child);
	if (is_wanted(name))
		watch(tid, RECORDER_ALONE);
	if (!thread || thread->ended || thread->follow == RECORDER_ALONE)
		return 0;
	if (thread->follow == RECORDER_THREADS && child->tgid != parent->tgid)
		return 0;
	watch(tid, thread->follow);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(renamed, struct task_struct *p, const char *name)
{
	char comm[RECORDER_NAME] = {};

	if (wanted_length && bpf_probe_read_kernel_str(comm, sizeof(comm), name) > 0 &&
	    is_wanted(comm) && !thread_of(p->pid))
		watch(p->pid, RECORDER_ALONE);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *p)
{
	struct recorder_thread *thread = thread_of(p->pid);

	if (thread) {
		name_of(thread->name, p);
		thread->ended = 1;
	}
	return 0;
}

#endif /* ARTIS_RECORDER_THREADS_H */
