/* SPDX-License-Identifier: GPL-2.0-only */
/* In the place of libbpf's header of that name: every member is there, and is read as it is. */
#ifndef ARTIS_SIM_BPF_CORE_READ_H
#define ARTIS_SIM_BPF_CORE_READ_H

#define bpf_core_field_exists(field...) 1
#define bpf_core_type_exists(type) 1
#define bpf_core_enum_value(type, value) SIM_ENQ_HEAD
#define bpf_core_field_offset(type, field) __builtin_offsetof(type, field)
#define bpf_probe_read_kernel_str(to, bytes, from) ((void)(from))

/* The kernel's ENQUEUE_HEAD. */
#define SIM_ENQ_HEAD 0x10ULL

#define SIM_READ_1(from, a) ((from)->a)
#define SIM_READ_2(from, a, b) ((from)->a->b)
#define SIM_READ(from, a, b, which, ...) which
#define BPF_CORE_READ(from, members...) \
	SIM_READ(from, members, SIM_READ_2, SIM_READ_1)(from, members)

/* A timer that wakes up a sleeper is in that one's record. */
#define bpf_core_cast(pointer, type)                                                               \
	((type *)_Generic((type *)0,                                                               \
		struct hrtimer_sleeper *: &shared->cpus[shared->cpu].sleeper,                      \
		default: (pointer)))

#endif /* ARTIS_SIM_BPF_CORE_READ_H */
