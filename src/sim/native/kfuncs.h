/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's functions that scx.h and scx_compat.h declare, by way of the simulator. */
#ifndef ARTIS_SIM_KFUNCS_H
#define ARTIS_SIM_KFUNCS_H

/* state of a walk: which queue, and the virtual time for the next move; the rest is Rust's */
enum {
	WALK_DSQ = 0,
	WALK_VTIME = 3,
};

s32 scx_bpf_create_dsq(u64 dsq_id, s32 node)
{
	return kernel.create(dsq_id);
}

int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags)
{
	kernel.walk(it->state, dsq_id);
	return 0;
}

struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it)
{
	return kernel.walk_on(it->state);
}

void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it)
{
}

bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 enq_flags)
{
	return kernel.move(p, it->state[WALK_DSQ], dsq_id, enq_flags, 0, false);
}

void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime)
{
	it->state[WALK_VTIME] = vtime;
}

bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			    u64 enq_flags)
{
	return kernel.move(p, it->state[WALK_DSQ], dsq_id, enq_flags, it->state[WALK_VTIME], true);
}

s32 scx_bpf_dsq_nr_queued(u64 dsq_id)
{
	return kernel.queued(dsq_id);
}

void scx_bpf_kick_cpu(s32 cpu, u64 flags)
{
	kernel.kick(cpu, flags);
}

bool scx_bpf_task_running(const struct task_struct *p)
{
	return kernel.is_running(p);
}

const struct cpumask *scx_bpf_get_idle_cpumask(void)
{
	return kernel.idle_mask();
}

void scx_bpf_put_idle_cpumask(const struct cpumask *idle_mask)
{
}

s32 scx_bpf_pick_idle_cpu(const struct cpumask *cpus_allowed, u64 flags)
{
	return kernel.pick_idle(cpus_allowed);
}

u64 scx_bpf_now(void)
{
	return shared->now_ns;
}

void scx_bpf_exit_bstr(s64 exit_code, char *fmt, unsigned long long *data, u32 data__sz)
{
	kernel.ends(exit_code);
}

struct bpf_cpumask *bpf_cpumask_create(void)
{
	return (struct bpf_cpumask *)kernel.create_mask();
}

/* The simulator frees all of them at its end. */
void bpf_cpumask_release(struct bpf_cpumask *cpumask)
{
}

void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *cpumask)
{
	kernel.set_bit((struct cpumask *)cpumask, cpu);
}

bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask)
{
	return kernel.test_bit(cpumask, cpu);
}

bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b)
{
	return kernel.intersects(a, b);
}

u32 bpf_cpumask_any_and_distribute(const struct cpumask *a, const struct cpumask *b)
{
	return kernel.any_of_both(a, b);
}

void bpf_rcu_read_lock(void)
{
}

void bpf_rcu_read_unlock(void)
{
}

bool scx_bpf_dsq_insert___v2___artis(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)
{
	kernel.insert(p, dsq_id, slice, enq_flags, 0, false);
	return true;
}

bool __scx_bpf_dsq_insert_vtime(struct task_struct *p, struct scx_bpf_dsq_insert_vtime_args *args)
{
	kernel.insert(p, args->dsq_id, args->slice, args->enq_flags, args->vtime, true);
	return true;
}

bool scx_bpf_dsq_move_to_local___v2___artis(u64 dsq_id, u64 enq_flags)
{
	return kernel.to_local(dsq_id, enq_flags);
}

struct task_struct *scx_bpf_dsq_peek___artis(u64 dsq_id)
{
	return kernel.peek(dsq_id);
}

void scx_bpf_dsq_reenq___artis(u64 dsq_id, u64 reenq_flags)
{
	kernel.hand_back(dsq_id & ~SCX_DSQ_LOCAL_ON);
}

bool scx_bpf_task_set_slice___artis(struct task_struct *p, u64 slice)
{
	p->scx.slice = slice;
	return true;
}

s32 __scx_bpf_select_cpu_and(struct task_struct *p, const struct cpumask *cpus_allowed,
			     struct scx_bpf_select_cpu_and_args *args)
{
	return kernel.select_idle(p, args->prev_cpu, args->wake_flags, cpus_allowed);
}

#endif /* ARTIS_SIM_KFUNCS_H */
