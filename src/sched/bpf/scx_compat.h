/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What older kernels lack of sched_ext, and what does the same there. Each shim has the
 * name that artis uses, and says for which kernels it is: with the last of them gone,
 * the kernel's function can be declared in scx.h instead.
 *
 * Asked for is what the kernel's BTF has, never its version. The answers are known
 * when the programs are loaded, and the verifier removes the branches not taken:
 * a kernel that has everything pays for a constant.
 *
 * libbpf cuts a name at its last "___" when it looks for it in the kernel. So "x___artis"
 * is x, and "x___v2___artis" is x___v2.
 */
#ifndef ARTIS_SCX_COMPAT_H
#define ARTIS_SCX_COMPAT_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct scx_bpf_select_cpu_and_args {
	s32 prev_cpu;
	u64 wake_flags;
	u64 flags;
};

struct scx_bpf_dsq_insert_vtime_args {
	u64 dsq_id;
	u64 slice;
	u64 vtime;
	u64 enq_flags;
};

#pragma clang attribute pop

bool scx_bpf_dsq_insert___v2___artis(struct task_struct *p, u64 dsq_id, u64 slice,
				     u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_insert___artis(struct task_struct *p, u64 dsq_id, u64 slice,
				u64 enq_flags) __ksym __weak;
bool __scx_bpf_dsq_insert_vtime(struct task_struct *p,
				struct scx_bpf_dsq_insert_vtime_args *args) __ksym __weak;
void scx_bpf_dsq_insert_vtime___artis(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
				      u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local___v2___artis(u64 dsq_id, u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local___artis(u64 dsq_id) __ksym __weak;
struct task_struct *scx_bpf_dsq_peek___artis(u64 dsq_id) __ksym __weak;
void scx_bpf_dsq_reenq___artis(u64 dsq_id, u64 reenq_flags) __ksym __weak;
void scx_bpf_reenqueue_local___v2___artis(void) __ksym __weak;
bool scx_bpf_task_set_slice___artis(struct task_struct *p, u64 slice) __ksym __weak;
s32 __scx_bpf_select_cpu_and(struct task_struct *p, const struct cpumask *cpus_allowed,
			     struct scx_bpf_select_cpu_and_args *args) __ksym __weak;
s32 scx_bpf_select_cpu_and___artis(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
				   const struct cpumask *cpus_allowed, u64 flags) __ksym __weak;

/*
 * 6.16 to 6.18 have no ___v2 of it. All to 7.3 have the other one, too, which newer
 * kernels may drop.
 */
static __always_inline void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice,
					       u64 enq_flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_insert___v2___artis))
		scx_bpf_dsq_insert___v2___artis(p, dsq_id, slice, enq_flags);
	else
		scx_bpf_dsq_insert___artis(p, dsq_id, slice, enq_flags);
}

/*
 * 6.16 to 6.18 take five arguments, and newer kernels a structure. It must stand in
 * the branch that asks for it: where the kernel has no such type, its members have no
 * place.
 */
static void insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice_ns, u64 vtime, u64 enq_flags)
{
	if (bpf_core_type_exists(struct scx_bpf_dsq_insert_vtime_args)) {
		struct scx_bpf_dsq_insert_vtime_args args = {
			.dsq_id = dsq_id,
			.slice = slice_ns,
			.vtime = vtime,
			.enq_flags = enq_flags,
		};

		__scx_bpf_dsq_insert_vtime(p, &args);
	} else {
		scx_bpf_dsq_insert_vtime___artis(p, dsq_id, slice_ns, vtime, enq_flags);
	}
}

/* The same for 6.16 to 6.18. */
static __always_inline s32 scx_bpf_select_cpu_and(struct task_struct *p, s32 prev_cpu,
						  u64 wake_flags,
						  const struct cpumask *cpus_allowed)
{
	if (bpf_core_type_exists(struct scx_bpf_select_cpu_and_args)) {
		struct scx_bpf_select_cpu_and_args args = {
			.prev_cpu = prev_cpu,
			.wake_flags = wake_flags,
		};

		return __scx_bpf_select_cpu_and(p, cpus_allowed, &args);
	}
	return scx_bpf_select_cpu_and___artis(p, prev_cpu, wake_flags, cpus_allowed, 0);
}

/*
 * 6.16 to 7.0 take no flags, and know no SCX_ENQ_IMMED, the only one that artis gives
 * here: see hands_back_late().
 */
static __always_inline bool scx_bpf_dsq_move_to_local(u64 dsq_id, u64 enq_flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move_to_local___v2___artis))
		return scx_bpf_dsq_move_to_local___v2___artis(dsq_id, enq_flags);
	return scx_bpf_dsq_move_to_local___artis(dsq_id);
}

/*
 * 6.16 to 6.18 have none, and that of 6.19 and 7.0 may give a task that has just left
 * the queue, or NULL although there is one: there a walk's first step does the same.
 * 7.1 repaired it and brought scx_bpf_dsq_reenq().
 */
static __always_inline struct task_struct *scx_bpf_dsq_peek(u64 dsq_id)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p = NULL;

	if (bpf_ksym_exists(scx_bpf_dsq_reenq___artis))
		return scx_bpf_dsq_peek___artis(dsq_id);
	if (!bpf_iter_scx_dsq_new(&it, dsq_id, 0))
		p = bpf_iter_scx_dsq_next(&it);
	bpf_iter_scx_dsq_destroy(&it);
	return p;
}

/* Does the kernel keep the first task of a queue, as reliably as scx_bpf_dsq_peek() needs it? */
static __always_inline bool has_first_task(void)
{
	return bpf_ksym_exists(scx_bpf_dsq_reenq___artis) &&
	       bpf_core_field_exists(struct scx_dispatch_q, first_task);
}

/*
 * 6.16 to 6.18 have none. There an operation of the scheduler writes the slice, and
 * other programs must not: see end_slice_here().
 */
static __always_inline void scx_bpf_task_set_slice(struct task_struct *p, u64 slice)
{
	if (bpf_ksym_exists(scx_bpf_task_set_slice___artis))
		scx_bpf_task_set_slice___artis(p, slice);
	else
		p->scx.slice = slice;
}

/*
 * Ends the slice of the current task, for programs that are no operation of the
 * scheduler: at once, or (6.16 to 6.18) as this CPU's next interrupt does it. The
 * CPU looks for its next task then, which is in RT0's way.
 */
static __always_inline void end_slice_here(struct task_struct *current)
{
	if (bpf_ksym_exists(scx_bpf_task_set_slice___artis))
		scx_bpf_task_set_slice___artis(current, 0);
	else
		scx_bpf_kick_cpu(bpf_get_smp_processor_id(), SCX_KICK_PREEMPT);
}

/*
 * Gives the tasks in the own queue of @cpu, this CPU, behind RT0, to ops.enqueue(). 6.19 and
 * 7.0 have another function for it. 6.16 to 6.18 have one that only ops.cpu_release()
 * may call, in RT0's wakeup: there artis does it from outside, see hands_back_late().
 */
static __always_inline void hand_back_here(s32 cpu)
{
	if (bpf_ksym_exists(scx_bpf_dsq_reenq___artis))
		scx_bpf_dsq_reenq___artis(SCX_DSQ_LOCAL_ON | cpu, 0);
	else if (bpf_ksym_exists(scx_bpf_reenqueue_local___v2___artis))
		scx_bpf_reenqueue_local___v2___artis();
}

/*
 * 6.16 to 7.0: is it artis, the process, that hands tasks back which wait behind RT0? On
 * 6.19 and 7.0 it finds some only where there is no tick.
 */
static __always_inline bool hands_back_late(void)
{
	return !bpf_ksym_exists(scx_bpf_dsq_reenq___artis);
}

#endif /* ARTIS_SCX_COMPAT_H */
