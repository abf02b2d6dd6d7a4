// SPDX-License-Identifier: GPL-2.0-only
//! The functions of the running kernel that do the work of system calls, and which of them can
//! be hooked.
//!
//! Each system call has a function for each way to call it ([`CALL_PREFIXES`]). Some are two names
//! for one function, and the kernel lists as hookable only one of the names, so the lists are
//! compared by address.

use super::Error;
use artis_machine::arch::CALL_PREFIXES;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const SYMBOLS: &str = "/proc/kallsyms";
const HOOKABLE: &str = "/sys/kernel/tracing/available_filter_functions_addrs";

/// A function's hook is its first instruction, or its second behind `endbr64`; with call depth
/// tracking or `-fpatchable-function-entry` still within these bytes.
const HOOK_OFFSET_MAX: u64 = 16;

/// The functions of all system calls, one name for each.
#[derive(Debug, Default, PartialEq, Eq)]
struct Functions {
    /// Those that the kernel lets us hook.
    hookable: Vec<String>,
    /// The others.
    others: Vec<String>,
}

/// The functions that can be hooked on this machine. Of the others nothing is seen before they
/// return.
pub(super) fn hookable() -> Result<Vec<String>, Error> {
    let read = |file| fs::read_to_string(file).map_err(|reason| Error::Symbols { file, reason });
    let functions = sort(&read(SYMBOLS)?, &read(HOOKABLE)?);
    if functions.hookable.is_empty() {
        return Err(Error::NoSyscalls {
            found: functions.others.len(),
            list: HOOKABLE,
        });
    }
    Ok(functions.hookable)
}

/// `symbols` has lines "address type name", `hookable` "address name".
fn sort(symbols: &str, hookable: &str) -> Functions {
    let address = |word: Option<&str>| u64::from_str_radix(word?, 16).ok();
    let mut named = BTreeMap::new();
    for line in symbols.lines() {
        let mut words = line.split_ascii_whitespace();
        let (at, name) = (address(words.next()), words.nth(1));
        if let (Some(at), Some(name)) = (at, name)
            && at != 0
            && is_syscall(name)
        {
            named.entry(at).or_insert(name);
        }
    }
    let hooks: BTreeSet<u64> = hookable
        .lines()
        .filter_map(|line| address(line.split_ascii_whitespace().next()))
        .collect();
    let mut functions = Functions::default();
    for (at, name) in named {
        match hooks.range(at..at + HOOK_OFFSET_MAX).next() {
            Some(_) => functions.hookable.push(name.to_owned()),
            None => functions.others.push(name.to_owned()),
        }
    }
    functions
}

/// A name with a dot is a part of a function that the compiler moved elsewhere (`.cold`).
fn is_syscall(symbol: &str) -> bool {
    if symbol.contains('.') {
        return false;
    }
    CALL_PREFIXES
        .iter()
        .filter_map(|abi| symbol.strip_prefix(abi))
        .any(|rest| rest.starts_with("sys_") || rest.starts_with("compat_sys_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: &str = "\
ffffffff81000010 T __pfx___x64_sys_nice
ffffffff81000020 T __x64_sys_nice
ffffffff81000060 T __ia32_sys_nice
ffffffff81000100 t __do_sys_getppid
ffffffff81000100 T __ia32_sys_getppid
ffffffff81000100 T __x64_sys_getppid
ffffffff81000200 T __x64_compat_sys_ioctl
ffffffff81000300 T __x64_sys_hidden
ffffffff81000380 t __x64_sys_nice.cold
ffffffff81000400 d __p_syscall_meta__getppid
";

    #[test]
    fn each_function_is_hooked_once_whatever_name_the_kernel_lists() {
        let hookable = "\
ffffffff81000024 __x64_sys_nice
ffffffff81000064 __ia32_sys_nice
ffffffff81000104 __do_sys_getppid
ffffffff81000200 __x64_compat_sys_ioctl
";
        let functions = sort(SYMBOLS, hookable);
        assert_eq!(
            functions.hookable,
            [
                "__x64_sys_nice",
                "__ia32_sys_nice",
                "__ia32_sys_getppid",
                "__x64_compat_sys_ioctl"
            ]
        );
        assert_eq!(functions.others, ["__x64_sys_hidden"]);
    }

    #[test]
    fn hidden_addresses_find_nothing() {
        let zeros = "0000000000000000 T __x64_sys_nice\n";
        assert_eq!(sort(zeros, zeros), Functions::default());
    }
}
