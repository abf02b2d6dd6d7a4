// SPDX-License-Identifier: GPL-2.0-only
//! All that Rust knows of the kernel on this processor: x86-64. What the BPF programs know of it is
//! in `src/bpf/arch.h`. To port artis, begin with these two.

/// What calls the function of a system call: of 64-bit programs first, which every kernel since
/// 6.9 has, then of 32-bit programs and of x32, which a kernel may be built without.
pub const CALLS: [&str; 3] = ["x64_sys_call", "ia32_sys_call", "x32_sys_call"];

/// How the names of the functions begin that do the work of system calls, for each way to call
/// them (`__x64_sys_read`, `__ia32_compat_sys_ioctl`, ...).
/// Source: `arch/x86/include/asm/syscall_wrapper.h`.
pub const CALL_PREFIXES: [&str; 2] = ["__x64_", "__ia32_"];

/// What delivers signals on the way to user mode.
pub const DELIVERS_SIGNALS: &str = "arch_do_signal_or_restart";

/// The kernel's count of what forbids preemption, a variable of each CPU.
pub const PREEMPT_COUNT: &str = "__preempt_count";

/// The code that an interrupt of the CPU's own timer enters by.
pub const TIMER_ENTRY: &str = "asm_sysvec_apic_timer_interrupt";

/// What the kernels are built for that the lab boots, with this machine's own programs.
pub const OF_GUESTS: &str = "x86_64";

/// The dynamic loader of GNU systems, at the path that their ABI fixes.
pub const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// Where Debian keeps the libraries, and its loader.
pub const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
