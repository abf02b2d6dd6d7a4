// SPDX-License-Identifier: GPL-2.0-only
//! The files for Kubernetes: its schemas take them, and a pod's command does its part where it has
//! only what its image and its volume have.

use super::{SEEDS, assert_whole, packaged, shared};
use crate::common::skipped;
use std::path::Path;
use std::process::{Command, Output};

const PARTS: usize = 3;
const FILES: [&str; 3] = ["sweep.yaml", "nodes.yaml", "decide.yaml"];

fn text(name: &str) -> String {
    std::fs::read_to_string(packaged("kubernetes").join(name)).unwrap()
}

/// What Kubernetes' own schemas say of this text; none without the program.
fn validated(text: &str) -> Option<Output> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file.yaml");
    std::fs::write(&file, text).unwrap();
    let program = std::env::var_os("ARTIS_KUBERNETES_VALIDATE");
    let program = program.unwrap_or_else(|| "kubernetes-validate".into());
    let mut command = Command::new(program);
    command.arg("--strict").arg(file).output().ok()
}

#[test]
fn kubernetes_schemas_take_each_file() {
    const TEST: &str = "kubernetes_schemas_take_each_file";
    for name in FILES {
        let Some(output) = validated(&text(name)) else {
            let reason = "kubernetes-validate is not there (pip install kubernetes-validate, and \
                          on PATH or in ARTIS_KUBERNETES_VALIDATE)";
            return skipped(TEST, reason);
        };
        assert!(output.status.success(), "{name}: {output:?}");
    }
    // It does find faults.
    for (right, wrong) in [
        ("completionMode: Indexed", "completionsMode: Indexed"),
        ("values: [64]", "values: [never]"),
    ] {
        let damaged = text("sweep.yaml").replace(right, wrong);
        assert_ne!(damaged, text("sweep.yaml"));
        assert!(!validated(&damaged).unwrap().status.success(), "{wrong}");
    }
}

/// The lines of the block that begins after this line, without their indentation.
fn block(text: &str, begins: &str) -> String {
    let lines = text.lines().skip_while(|line| line.trim() != begins);
    let mut lines = lines.skip(1).peekable();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let own = lines.peek().map_or(0, |line| depth(line));
    let inside = lines.take_while(|line| line.is_empty() || depth(line) >= own);
    inside
        .map(|line| format!("{}\n", line.trim_start()))
        .collect()
}

/// Runs a pod's command in a root of its own, with this machine's programs and the volume, and in
/// namespaces of its own, as nobody.
fn pod(work: &Path, command: &str, index: usize, words: &str) -> Output {
    let root = tempfile::tempdir().unwrap();
    let artis = Path::new(env!("CARGO_BIN_EXE_artis")).parent().unwrap();
    let script = "set -e; root=$1; mount -t tmpfs pod $root; cd $root\n\
        mkdir usr proc dev tmp work artis\n\
        for link in bin sbin lib lib64; do cp -a /$link $root/; done\n\
        mount --bind /usr usr; mount --bind \"$3\" artis; mount --bind \"$2\" work\n\
        mount -o remount,bind,ro usr; mount -t proc proc proc; mount --rbind /dev dev\n\
        mount -o remount,ro pod\n\
        exec chroot --userspec=65534:65534 . /usr/bin/env -i -C /work PATH=/artis:/usr/bin:/bin \\\n\
        SHARDS=3 JOB_COMPLETION_INDEX=$4 ARTIS_WORDS=\"$5\" /bin/sh -euc \"$6\"";
    let mut unshare = Command::new("unshare");
    unshare.args([
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--net",
        "--ipc",
        "--uts",
    ]);
    unshare.args(["/bin/sh", "-c", script, "sh"]);
    unshare.arg(root.path()).arg(work).arg(artis);
    unshare.arg(index.to_string()).args([words, command]);
    unshare.output().unwrap()
}

#[test]
fn pods_of_the_job_make_the_whole_and_end_with_the_status_of_artis() {
    const TEST: &str = "pods_of_the_job_make_the_whole";
    if !nix::unistd::geteuid().is_root() {
        return skipped(TEST, "a pod of one's own needs root");
    }
    let job = text("sweep.yaml");
    let command = block(&job, "- |");
    assert_eq!(command.lines().count(), 3, "{command}");
    let work = shared();
    let words = format!("simulate mixed.toml --seeds {SEEDS} --keep kept");
    for index in (0..PARTS).rev() {
        let output = pod(work.path(), &command, index, &words);
        if String::from_utf8_lossy(&output.stderr).contains("Operation not permitted") {
            return skipped(TEST, "this machine lets nobody mount");
        }
        assert!(output.status.success(), "{output:?}");
    }
    assert_whole(work.path(), PARTS);
    let wrong = pod(work.path(), &command, 0, "simulate mixed.toml --rt 9");
    assert_eq!(wrong.status.code(), Some(64), "{wrong:?}");
    // What was there before is whole, and the part that failed left nothing under its name.
    assert_whole(work.path(), PARTS);
}

#[test]
fn a_pod_ends_with_the_status_of_artis_and_is_not_tried_again() {
    let job = text("decide.yaml");
    for line in ["backoffLimit: 0", "restartPolicy: Never"] {
        assert!(job.contains(line), "{line}");
    }
    // Nothing is started between the engine and artis, here and where nodes are scheduled.
    assert!(!job.contains("command:") && !job.contains("/bin/sh"));
    let image = std::fs::read_to_string(packaged("Containerfile")).unwrap();
    assert!(image.contains("ENTRYPOINT [\"/usr/bin/artis\"]"), "{image}");
    let nodes = text("nodes.yaml");
    let (_, own) = nodes.split_once("      containers:\n").unwrap();
    assert!(!own.contains("command:"), "{own}");
    // Its words are words of artis.
    let words = block(&job, "args:");
    let words: Vec<&str> = words
        .lines()
        .filter_map(|line| line.strip_prefix("- "))
        .collect();
    assert_eq!(words[0], "decide");
    let output = Command::new(env!("CARGO_BIN_EXE_artis"))
        .args(
            words
                .iter()
                .map(|word| word.replace("/var/lib/artis", "/tmp/none")),
        )
        .arg("--plan")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Every pod that may change a node sees what the kubelet has given away.
#[test]
fn pods_that_change_a_node_see_the_cpu_managers_state() {
    for name in ["nodes.yaml", "decide.yaml"] {
        let text = text(name);
        assert!(text.contains("{name: kubelet, mountPath: /var/lib/kubelet, readOnly: true}"));
        assert!(
            text.contains("{name: kubelet, hostPath: {path: /var/lib/kubelet, type: Directory}}")
        );
    }
}
