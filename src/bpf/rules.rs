// SPDX-License-Identifier: GPL-2.0-only
//! For tests: the scheduler's policy without its rules, to see what decides beside it.

use std::path::Path;

/// The policy's subjects, in their order, as one text. `folder` has policy.h.
///
/// # Panics
/// Without these files.
pub fn policy(folder: &Path) -> String {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let index = read("policy.h");
    let lines = index.lines().map(|line| {
        let part = line.strip_prefix("#include \"policy/");
        let part = part.and_then(|part| part.strip_suffix('"'));
        part.map_or_else(|| line.to_owned(), |part| read(&format!("policy/{part}")))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The policy without rules: types and signatures stay, constants go, and each function has an
/// answer that depends on nothing.
pub fn without_rules(policy: &str) -> String {
    let mut out = vec!["const volatile unsigned long long artis_any;".to_owned()];
    let mut lines = policy.lines();
    while let Some(line) = lines.next() {
        let is_constant = line.starts_with("#define ") && line.split_whitespace().count() > 2;
        if is_constant {
            continue;
        }
        out.push(line.to_owned());
        if !line.starts_with("static inline ") {
            continue;
        }
        for line in lines.by_ref().take_while(|line| *line != "}") {
            if line == "{" {
                let is_void = out
                    .iter()
                    .rev()
                    .find(|line| line.starts_with("static inline "));
                let is_void = is_void.is_some_and(|line| line.starts_with("static inline void "));
                out.push(if is_void { "{" } else { "{ return artis_any;" }.to_owned());
                out.push("}".to_owned());
            } else if out.last().is_none_or(|line| line != "}") {
                out.push(line.to_owned());
            }
        }
    }
    out.join("\n")
}
