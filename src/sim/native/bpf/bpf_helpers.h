/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In the place of libbpf's header of that name: what BPF programs call, for a program that is
 * compiled for this machine. Maps are arrays that the simulator gives; locks do nothing, because
 * one thread simulates all CPUs.
 */
#ifndef ARTIS_SIM_BPF_HELPERS_H
#define ARTIS_SIM_BPF_HELPERS_H

static struct sim_kernel kernel;
static struct sim_shared *shared;

#define SEC(name)
#define __ksym
#define __weak __attribute__((weak))
#define __hidden
#define __noinline static __attribute__((noinline))
#define __always_inline inline __attribute__((always_inline))
#define __arg_trusted
#define __arg_nonnull
#define __arg_nullable
#define __kptr
#define barrier_var(variable)

#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define __array(name, value) typeof(value) *name[]

#define bpf_for(i, start, end) for ((i) = (start); (i) < (end); (i)++)
#define bpf_for_each(type, cur, args...)                                                           \
	for (struct bpf_iter_##type ___it, *___first = (bpf_iter_##type##_new(&___it, ##args),     \
							(void *)0);                                \
	     (void)___first, ((cur) = bpf_iter_##type##_next(&___it));)

/* Every kernel function is there: the simulator is the newest kernel that artis knows. */
#define bpf_ksym_exists(symbol) 1
#define NULL ((void *)0)

#define bpf_get_smp_processor_id() ((u32)shared->cpu)
#define bpf_get_current_task_btf() (shared->current)
#define bpf_jiffies64() (shared->jiffies)
#define bpf_get_numa_node_id() ((void)0)
#define bpf_kallsyms_lookup_name(name, size, flags, out) (*(out) = SIM_SLEEPER, 0)

/* The function of the timers that wake up sleepers. */
#define SIM_SLEEPER 1

/* Who waits in a loop looks at the clock: so time goes on. */
static inline u64 bpf_ktime_get_ns(void)
{
	u64 now = shared->now_ns + shared->spent_ns;

	shared->spent_ns += shared->spin_ns;
	return now;
}

#define bpf_per_cpu_ptr(pointer, cpu)                                                              \
	_Generic((pointer),                                                                        \
		struct rq *: &shared->cpus[cpu].rq,                                                \
		struct hrtimer_cpu_base *: kernel.timers(cpu))
#define bpf_this_cpu_ptr(pointer)                                                                  \
	((void *)_Generic((pointer),                                                               \
		struct pt_regs **: &shared->cpus[shared->cpu].irq_regs,                            \
		unsigned long *: &shared->cpus[shared->cpu].preempt_count))

#define bpf_spin_lock(lock) ((void)(lock))
#define bpf_spin_unlock(lock) ((void)(lock))

#define bpf_kptr_xchg(place, new)                                                                  \
	({                                                                                         \
		typeof(*(place)) sim_old = *(place);                                               \
		*(place) = (new);                                                                  \
		sim_old;                                                                           \
	})

/* What is known of a task is behind it. */
#define bpf_task_storage_get(map, p, first, flags)                                                 \
	((typeof((map)->value))((char *)(p) + sizeof(struct task_struct)))

#define SIM_IS_HASH(map) (sizeof(*(map)->type) / sizeof(int) == BPF_MAP_TYPE_HASH)

static inline void *sim_element(void **values, u64 bytes, u64 count, u64 index)
{
	if (!*values)
		*values = kernel.array(bytes * count);
	return index < count ? (char *)*values + index * bytes : NULL;
}

#define bpf_map_lookup_elem(map, key)                                                              \
	((typeof((map)->value))(SIM_IS_HASH(map) ?                                                 \
					kernel.find(map, *(key)) :                                 \
					sim_element((void **)&(map)->value, sizeof(*(map)->value), \
						    sizeof(*(map)->max_entries) / sizeof(int),     \
						    *(key))))
#define bpf_map_update_elem(map, key, from, flags) (kernel.store(map, *(key), *(from)), 0)
#define bpf_map_delete_elem(map, key) (kernel.forget(map, *(key)), 0)

/* A timer knows the values of its map, whose first member it is, and what it calls. */
#define bpf_timer_init(timer, map, clock) ((timer)->opaque[0] = (u64)(map)->value, 0)
#define bpf_timer_set_callback(timer, function) ((timer)->opaque[1] = (u64)(function), 0)
#define bpf_timer_start(timer, in_ns, flags) (kernel.start_timer(timer, in_ns), 0)

#endif /* ARTIS_SIM_BPF_HELPERS_H */
