// SPDX-License-Identifier: GPL-2.0-only
//! Every rule stands in `bpf/policy.h`: the BPF side measures, calls and obeys.
//!
//! Two ways to show it. The BPF side is compiled with a policy that has no rule and no number, only
//! words, signatures, and one answer that the compiler cannot know and that depends on nothing.
//! What only a rule needs is not read any more then, or something else decides. And nothing in
//! the text compares what the policy's words name, or has a number of its own.

use artis_bpf_build::rules::{policy, without_rules};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const BPF: &str = "bpf";

/// The BPF side: what measures, calls and obeys.
const SIDE: &[&str] = &[
    "account.h",
    "artis.bpf.c",
    "beset.h",
    "cpu.h",
    "detect.h",
    "grace_period.h",
    "group.h",
    "hand_back.h",
    "hotplug.h",
    "limit.h",
    "nrt_idle.h",
    "place.h",
    "queues.h",
    "release.h",
    "rt0.h",
    "search.h",
    "seat.h",
    "select.h",
    "serve.h",
    "sides.h",
    "slice_timer.h",
    "state.h",
    "take.h",
    "tick.h",
    "view.h",
];

/// Interfaces: ours to Rust, and the kernel's.
const OTHERS: &[&str] = &["intf.h", "scx.h", "scx_compat.h"];

/// Numbers of the kernel's interfaces, and of ours to it: none of them decides about a task.
const NUMBERS: &[(&str, &str)] = &[
    ("0", "nothing"),
    ("1", "one"),
    ("2", "bpf_tracing.h"),
    ("4", "bytes of __preempt_count"),
    ("8", "alignment"),
    ("12", "ENOMEM"),
    ("0x100", "the first dispatch queue"),
    ("0x200", "the first dispatch queue of a cache, NRT side"),
    ("0x300", "the first dispatch queue of a cache, RT side"),
    ("0x10000", "the first dispatch queue of a CPU"),
    (
        "0x20000",
        "the first dispatch queue of a CPU's kernel threads",
    ),
    ("0x30000", "the first dispatch queue of a CPU's RT1+ tasks"),
    ("3", "STEP"),
    ("5", "STEP"),
    ("6", "STEP"),
    ("7", "STEP"),
    ("9", "STEP"),
    ("10", "STEP"),
    ("30000", "ms: the kernel's watchdog, as long as it allows"),
];

fn read(name: &str) -> String {
    let path = Path::new(BPF).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// C without its comments and strings.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"']) {
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        let (begin, end) = if rest.starts_with("/*") {
            (2, "*/")
        } else if rest.starts_with('"') {
            (1, "\"")
        } else {
            code.push('/');
            rest = &rest[1..];
            continue;
        };
        let length = rest[begin..].find(end).expect("it ends");
        rest = &rest[begin + length + end.len()..];
    }
    code + rest
}

/// libbpf's headers, which cargo built beside this crate.
fn libbpf() -> PathBuf {
    let builds = Path::new(env!("OUT_DIR"))
        .ancestors()
        .nth(2)
        .expect("target/*/build");
    let found = fs::read_dir(builds)
        .expect("cargo's folder is there")
        .flatten()
        .find_map(|entry| {
            let include = entry.path().join("out/include");
            include
                .join("bpf/bpf_helpers.h")
                .exists()
                .then_some(include)
        });
    found.unwrap_or_else(|| panic!("no libbpf headers below {}", builds.display()))
}

/// The BPF side in `folder`, compiled with this policy into LLVM's text; or the compiler's words.
fn compile(folder: &Path, policy: &str) -> Result<String, String> {
    let out = tempfile::tempdir().unwrap();
    let (header, text) = (out.path().join("policy.h"), out.path().join("artis.ll"));
    fs::write(&header, policy).unwrap();
    let output = Command::new(env!("ARTIS_CLANG"))
        .args([
            "-target",
            "bpf",
            "-D__TARGET_ARCH_x86",
            "-mcpu=v3",
            "-g",
            "-O2",
            "-S",
        ])
        .args([
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-parameter",
            "-I",
            "../bpf",
            "-I",
        ])
        .arg(libbpf())
        .arg(format!("-DARTIS_POLICY=\"{}\"", header.display()))
        // Without it the compiler keeps reads of the kernel's structs that nothing uses.
        .arg("-Dpreserve_access_index=annotate(\"\")")
        .arg("-emit-llvm")
        .arg(folder.join("artis.bpf.c"))
        .arg("-o")
        .arg(&text)
        .output()
        .unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(fs::read_to_string(text).unwrap())
}

/// What stands behind `key` on a line, up to one of `,)}`.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = &line[line.find(key)? + key.len()..];
    Some(rest[..rest.find([',', ')', '}'])?].trim_matches('"'))
}

/// The members of structs that this program reads, as `struct.member`, by the compiler's own
/// account: the type and the offset of each load, and where each member lies.
fn reads(program: &str) -> BTreeSet<String> {
    let nodes: BTreeMap<&str, &str> = program
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .collect();
    // (struct, offset in bits) to member
    let mut members = BTreeMap::new();
    for node in nodes.values().filter(|node| node.contains("DW_TAG_member")) {
        let scope = value(node, "scope: ").and_then(|scope| nodes.get(scope));
        let of = scope.and_then(|scope| value(scope, "name: "));
        if let (Some(of), Some(name)) = (of, value(node, "name: ")) {
            let offset: u64 = value(node, "offset: ").map_or(0, |offset| offset.parse().unwrap());
            members.insert((of, offset), name);
        }
    }
    // The weight lies in a struct within the task's.
    let inner = members
        .iter()
        .find(|((of, _), name)| *of == "task_struct" && **name == "scx")
        .map(|((_, offset), _)| *offset);
    let inner = inner.expect("a task has what sched_ext knows of it");
    let tags = program.lines().filter(|line| line.contains(" = load "));
    let tags = tags.filter_map(|line| line.split("!tbaa ").nth(1)?.split([',', ' ']).next());
    tags.filter_map(|tag| {
        let tag = nodes.get(tag)?.trim_start_matches("!{");
        let mut parts = tag.split(", ");
        let of = nodes.get(parts.next()?)?.split('"').nth(1)?;
        let offset = parts
            .nth(1)?
            .trim_start_matches("i64 ")
            .trim_end_matches('}');
        let offset = offset.parse::<u64>().ok()? * 8;
        let own = members.get(&(of, offset));
        let own = own.filter(|name| of != "task_struct" || **name != "scx");
        let name = match own {
            Some(name) => (*name).to_owned(),
            None => format!(
                "scx.{}",
                members.get(&("sched_ext_entity", offset.checked_sub(inner)?))?
            ),
        };
        Some(format!("{of}.{name}"))
    })
    .collect()
}

/// What only a rule has a use for. With answers that do not depend on it nobody reads it.
const RULES_READ: &[&str] = &[
    "task_ctx.affinity",
    "task_struct.flags",
    "task_struct.policy",
    "task_struct.static_prio",
];

/// Those of [`RULES_READ`] that this program reads.
fn read_by_rules(program: &str) -> Vec<&'static str> {
    let reads = reads(program);
    RULES_READ
        .iter()
        .copied()
        .filter(|member| reads.contains(*member))
        .collect()
}

#[test]
fn the_bpf_side_decides_nothing_itself() {
    let policy = policy(Path::new(BPF));
    let whole = compile(Path::new(BPF), &policy).unwrap();
    assert_eq!(read_by_rules(&whole), RULES_READ, "the rules do read them");
    let stub = without_rules(&policy);
    assert!(!stub.contains("ARTIS_SLICE_RT_NS") && stub.contains("artis_must_leave("));
    match compile(Path::new(BPF), &stub) {
        Ok(program) => assert_eq!(read_by_rules(&program), [""; 0], "read outside of policy.h"),
        Err(words) => panic!("something outside of policy.h uses a number of it:\n{words}"),
    }
}

/// The BPF side with `to` in place of `from` in its `tick.h`, compiled without rules.
fn changed(from: &str, to: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    for name in SIDE.iter().chain(OTHERS) {
        let text = read(name);
        assert!(*name != "tick.h" || text.contains(from));
        let text = match *name {
            "tick.h" => text.replacen(from, to, 1),
            _ => text,
        };
        fs::write(folder.path().join(name), text).unwrap();
    }
    compile(folder.path(), &without_rules(&policy(Path::new(BPF))))
}

#[test]
fn a_rule_that_somebody_adds_elsewhere_is_noticed() {
    let place = "if (!t || !on)\n";
    let program = changed(place, "if (!t || !on || p->policy % 3)\n").unwrap();
    assert_eq!(read_by_rules(&program), ["task_struct.policy"]);
    let program = changed(place, "if (!t || !on || t->affinity)\n").unwrap();
    assert_eq!(read_by_rules(&program), ["task_ctx.affinity"]);
    let words = changed(
        place,
        "if (!t || !on || p->scx.slice > ARTIS_SLICE_RT_NS)\n",
    )
    .unwrap_err();
    assert!(words.contains("ARTIS_SLICE_RT_NS"), "{words}");
}

/// Words of the policy that name facts. Verdicts are obeyed: `switch` and `==` on them are right.
fn names_a_fact(word: &str) -> bool {
    let facts = [
        "ARTIS_CLASS_",
        "ARTIS_STATE_",
        "ARTIS_AFFINITY_",
        "ARTIS_POLICY_",
    ];
    facts.iter().any(|prefix| word.starts_with(prefix))
        || [
            "class",
            "state",
            "affinity",
            "policy",
            "static_prio",
            "weight",
            "hosted_class",
        ]
        .contains(&word)
}

/// The words and signs of a line.
fn tokens(line: &str) -> Vec<&str> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
        } else {
            let two = ["==", "!=", "<=", ">=", "->", "&&", "||", "<<", ">>"];
            if two.iter().any(|sign| rest.starts_with(sign)) {
                2
            } else {
                first.len_utf8()
            }
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// What in this code decides by itself, as sentences.
fn decisions(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in code(text).lines().filter(|line| !line.starts_with('#')) {
        let tokens = tokens(line);
        for (at, token) in tokens.iter().enumerate() {
            let around = [at.checked_sub(1), Some(at + 1)];
            let around = around.map(|at| at.and_then(|at| tokens.get(at)).copied());
            if ["==", "!=", "<", ">", "<=", ">="].contains(token)
                && around.iter().flatten().any(|word| names_a_fact(word))
            {
                found.push(format!(
                    "{name} compares what the policy names: {}",
                    line.trim()
                ));
            }
            let is_number = token.starts_with(|first: char| first.is_ascii_digit());
            let plain = token.trim_end_matches(['U', 'L']);
            if is_number && !NUMBERS.iter().any(|(number, _)| *number == plain) {
                found.push(format!(
                    "{name} has a number of its own, {token}: {}",
                    line.trim()
                ));
            }
        }
    }
    found
}

#[test]
fn nothing_but_the_policy_compares_or_counts() {
    for name in SIDE {
        let found = decisions(name, &read(name));
        assert!(
            found.is_empty(),
            "move it to policy.h:\n{}",
            found.join("\n")
        );
    }
}

#[test]
fn a_rule_outside_of_the_policy_is_found() {
    for rule in [
        "if (view.class == ARTIS_CLASS_RT1) return;",
        "if (ARTIS_STATE_RT != t->state) return;",
        "return p->policy < 3;",
        "if (now - record->marked_ns > 500000ULL) return;",
        "if (t->affinity != 0) return;",
    ] {
        assert_eq!(decisions("it", rule).len(), 1, "{rule}");
    }
    for fine in [
        "t->state = ARTIS_STATE_PROMOTED; /* class == 17 */",
        "if (artis_displaces(ARTIS_CLASS_KTHREAD, class)) return;",
        "case ARTIS_STATE_LEAVES_FAULT:",
        "if (where == ARTIS_PLACE_PINNED) return;",
    ] {
        assert_eq!(decisions("it", fine), Vec::<String>::new(), "{fine}");
    }
}

/// The BPF side has all its files in [`SIDE`], or something that decides could hide.
#[test]
fn every_file_of_the_bpf_side_is_looked_at() {
    let others = [&["policy", "policy.h", "mod.rs"], OTHERS].concat();
    let mut names: Vec<String> = fs::read_dir(BPF)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !others.contains(&name.as_str()))
        .collect();
    names.sort();
    assert_eq!(names, SIDE);
}
