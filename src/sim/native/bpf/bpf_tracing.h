/* SPDX-License-Identifier: GPL-2.0-only */
/* In the place of libbpf's header of that name: a program is a function. */
#ifndef ARTIS_SIM_BPF_TRACING_H
#define ARTIS_SIM_BPF_TRACING_H

#define BPF_PROG(name, args...) name(args)
#define bpf_task_pt_regs(p) (&shared->cpus[(p)->thread_info.cpu].regs)

#endif /* ARTIS_SIM_BPF_TRACING_H */
