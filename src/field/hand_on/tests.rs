// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::column::tests::column;
use crate::kept::{Here, Kept, Setting};
use artis_testing::canned;

/// What must never be in a file to hand on, each in another place of the machine.
const SECRETS: [(&str, &str); 9] = [
    ("etc/hostname", "workshop-pc"),
    ("etc/machine-id", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"),
    (
        "proc/sys/kernel/random/boot_id",
        "aaaa1111-2222-3333-4444-555566667777",
    ),
    ("sys/class/dmi/id/product_serial", "PF3X77QK"),
    ("sys/class/dmi/id/board_serial", "L1HF06S00"),
    ("sys/class/dmi/id/chassis_serial", "CH-99812"),
    (
        "sys/class/dmi/id/product_uuid",
        "03000200-0400-0500-0006-000700080009",
    ),
    ("sys/class/net/eth0/address", "52:54:00:ab:cd:ef"),
    ("proc/sys/kernel/domainname", "example.internal"),
];
const USER: &str = "bmiller";
const ADDRESS: &str = "192.168.7.23";

/// A machine that has its secrets in every word that somebody can choose.
fn everywhere(root: &Root) -> (Hardware, Vec<Column>) {
    let all: Vec<&str> = SECRETS.iter().map(|(_, value)| *value).collect();
    let all = format!("{} {USER} {ADDRESS} Bert Miller", all.join(" "));
    let mut hardware = hardware(root, &Facts::read(root), Some(format!("A CPU of {all}")));
    hardware.vendor = Some(format!("Maker {all}"));
    hardware.product = Some(format!("Box {all}"));
    hardware.board = Some(all.clone());
    hardware.firmware = Some(format!("1.2 {all}"));
    let mut column = column("stock", "6.18", &[10.0, 20.0]);
    column.boot.kernel = format!("6.18.3-{}", all.replace(' ', "-"));
    column.boot.arguments = all
        .split(' ')
        .map(|word| format!("isolcpus={word}"))
        .collect();
    column.boot.arguments.push("nohz_full=1".to_owned());
    column.runs[0].work.insert(all, 3.0);
    (hardware, vec![column])
}

#[test]
fn nothing_personal_is_handed_on() {
    let users = format!("{USER}:x:1001:1001:Bert Miller:/home/{USER}:/bin/sh\n");
    let routes = format!("  |-- {ADDRESS}\n     /32 host LOCAL\n");
    let mut files = SECRETS.to_vec();
    files.push(("etc/passwd", &users));
    files.push(("proc/net/fib_trie", &routes));
    files.push(("proc/sys/kernel/random/uuid", "made-at-random"));
    let (_files, root) = canned(&files);
    let folder = tempfile::tempdir().unwrap();
    let here = Here {
        cpu_model: None,
        cpus: "0-1".to_owned(),
    };
    let setting = Setting {
        rt: 1,
        seconds: 60.0,
        load: "hackbench".to_owned(),
        rest_command: Some(vec![format!("/home/{USER}/work")]),
    };
    let kept = Kept::look(&root, folder.path(), &here, &setting).unwrap();
    let (hardware, columns) = everywhere(&root);
    let before = serde_json::to_string(&(&hardware, &columns)).unwrap();
    let secrets = Secrets::read(&root, []);
    let made = HandOn::new(&kept, columns, hardware, BTreeMap::new(), &secrets);
    let text = serde_json::to_string_pretty(&made).unwrap();
    let all = SECRETS.iter().map(|(_, value)| *value);
    for secret in all.chain([USER, ADDRESS, "Bert", "Miller"]) {
        assert!(before.contains(secret), "the test has no {secret}");
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    // What is no secret has stayed, and the file is read again.
    for word in [
        "A CPU of",
        "Maker",
        "Box",
        "1.2",
        "6.18.3-own",
        "nohz_full=1",
        "made-at-random",
    ] {
        assert!(text.contains(word), "{word} in {text}");
    }
    let path = folder.path().join("machine.json");
    std::fs::write(&path, &text).unwrap();
    assert_eq!(HandOn::read(&path).unwrap(), made);
    std::fs::write(&path, &text[..text.len() / 2]).unwrap();
    let error = HandOn::read(&path).unwrap_err().to_string();
    assert!(error.contains("ends in the middle"), "{error}");
    std::fs::write(&path, text.replace(SCHEMA, "artis.machine/9")).unwrap();
    let error = HandOn::read(&path).unwrap_err().to_string();
    assert!(error.contains("--hand-on FILE"), "{error}");
}

#[test]
fn settings_of_the_real_time_cpu_are_named() {
    let cpu = |file: &str| format!("sys/devices/system/cpu/{file}");
    let files = [
        (cpu("online"), "0-1\n"),
        (cpu("possible"), "0-1\n"),
        (cpu("cpu1/cpufreq/scaling_governor"), "powersave\n"),
        (cpu("cpu0/cpufreq/scaling_governor"), "performance\n"),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(file, text)| (file.as_str(), *text))
        .collect();
    let (_files, root) = canned(&files);
    let settings = settings(&root, &Facts::read(&root), 1);
    assert_eq!(settings["governor"], "powersave");
    assert_eq!(settings.get("supply"), None);
}
