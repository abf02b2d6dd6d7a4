// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel work that keeps a CPU for as long as it is asked to: injected culprits for
 * the tests of the flight recorder. It is done (a) by a work item of the CPU's own
 * workqueue, (b) in a system call that cannot be preempted, (c) in one that has
 * interrupts off, (d) in the interrupt by which another CPU asks for a memory barrier.
 * Says when it was done.
 */
#include "../../src/bpf/kernel.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* How long it lasts. */
const volatile u64 work_ns = 800000;

/* Of the last time; CLOCK_MONOTONIC. */
u64 begin_ns;
u64 end_ns;
u64 items;

/* The next interrupt for a memory barrier does it. */
u32 armed;

struct bpf_wq {
	u64 __opaque[2];
} __attribute__((aligned(8)));

struct element {
	struct bpf_wq work;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct element);
} works SEC(".maps");

extern int bpf_wq_init(struct bpf_wq *wq, void *map, unsigned int flags) __ksym __weak;
extern int bpf_wq_start(struct bpf_wq *wq, unsigned int flags) __ksym __weak;
extern int bpf_wq_set_callback_impl(struct bpf_wq *wq,
				    int (*callback)(void *map, int *key, void *value),
				    unsigned int flags, void *aux) __ksym __weak;
/* Its name from about 7.0 on. */
extern int bpf_wq_set_callback(struct bpf_wq *wq,
			       int (*callback)(void *map, int *key, void *value),
			       unsigned int flags) __ksym __weak;

/* Kernels from 6.13 and 6.14 on have them. */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;
extern void bpf_local_irq_save(unsigned long *flags) __ksym __weak;
extern void bpf_local_irq_restore(unsigned long *flags) __ksym __weak;

static long until_it_is_over(u64 round, u64 *until_ns)
{
	return bpf_ktime_get_ns() >= *until_ns;
}

static void do_work(void)
{
	u64 began_ns = bpf_ktime_get_ns();
	u64 until_ns = began_ns + work_ns;

	/* as many rounds as the kernel allows */
	bpf_loop(1 << 23, until_it_is_over, &until_ns, 0);
	begin_ns = began_ns;
	end_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&items, 1);
}

static void do_work_unpreempted(void)
{
	bpf_preempt_disable();
	do_work();
	bpf_preempt_enable();
}

static int worked(void *map, int *key, void *value)
{
	/* a preemptible kernel would let everybody go first */
	if (bpf_ksym_exists(bpf_preempt_disable))
		do_work_unpreempted();
	else
		do_work();
	return 0;
}

/* Queues the item on the CPU where it is called. */
SEC("syscall")
int queue(void *ctx)
{
	u32 key = 0;
	struct element *element = bpf_map_lookup_elem(&works, &key);
	int failed;

	if (!element)
		return 1;
	/* the second time it says that it is there */
	bpf_wq_init(&element->work, &works, 0);
	if (bpf_ksym_exists(bpf_wq_set_callback))
		failed = bpf_wq_set_callback(&element->work, worked, 0);
	else
		failed = bpf_wq_set_callback_impl(&element->work, worked, 0, NULL);
	if (failed)
		return 2;
	return bpf_wq_start(&element->work, 0) ? 3 : 0;
}

/* In the caller, whom nobody preempts meanwhile. */
SEC("syscall")
int keep(void *ctx)
{
	if (!bpf_ksym_exists(bpf_preempt_disable))
		return 1;
	do_work_unpreempted();
	return 0;
}

/* In the caller, with interrupts off. */
SEC("syscall")
int mask(void *ctx)
{
	unsigned long flags;

	if (!bpf_ksym_exists(bpf_local_irq_save))
		return 1;
	bpf_local_irq_save(&flags);
	do_work();
	bpf_local_irq_restore(&flags);
	return 0;
}

/* membarrier(2) of another CPU has this one call it, in an interrupt. */
SEC("fentry/ipi_mb")
int on_barrier(void *ctx)
{
	if (__sync_lock_test_and_set(&armed, 0))
		do_work();
	return 0;
}
