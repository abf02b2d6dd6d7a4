// SPDX-License-Identifier: GPL-2.0-only
//! Unpacks the canned machines of `tests/data/machines`; their README has the form.

use artis::machine::{CpuList, Root};
use std::path::Path;

/// A canned machine, unpacked until this is dropped.
pub struct Machine {
    _folder: tempfile::TempDir,
    pub root: Root,
}

impl Machine {
    pub fn unpack(name: &str) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/machines");
        let text = std::fs::read_to_string(file.join(format!("{name}.txt"))).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = Root(folder.path().to_owned());
        let mut path = None;
        let mut content = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(more) = line.strip_prefix('|') {
                content.push(more.strip_prefix(' ').unwrap_or(more));
                continue;
            }
            if let Some(path) = path.take() {
                write(&root, path, &content.join("\n"));
                content.clear();
            }
            match line.split_once(" =") {
                Some((path, value)) => write(&root, path, value.trim_start()),
                None if line.starts_with('/') => path = Some(line),
                None => assert_eq!(line, "", "{name}: no such line"),
            }
        }
        if let Some(path) = path {
            write(&root, path, &content.join("\n"));
        }
        Self {
            _folder: folder,
            root,
        }
    }
}

/// Writes a file, or one for each CPU of the list in its path.
fn write(root: &Root, path: &str, text: &str) {
    match path.split_once('{') {
        None => put(root, path, &repeated(text)),
        Some((start, rest)) => {
            let (list, end) = rest.split_once('}').unwrap();
            for cpu in list.parse::<CpuList>().unwrap().iter() {
                put(root, &format!("{start}{cpu}{end}"), &numbered(text, cpu));
            }
        }
    }
}

impl Machine {
    /// The same machine with these files changed, or, where there is no text, without this file or
    /// folder.
    pub fn with(self, changes: &[(&str, Option<&str>)]) -> Self {
        for (path, text) in changes {
            match text {
                Some(text) => write(&self.root, path, text),
                None => {
                    let path = self.root.path(path);
                    let gone = match path.is_dir() {
                        true => std::fs::remove_dir_all(&path),
                        false => std::fs::remove_file(&path),
                    };
                    gone.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                }
            }
        }
        self
    }
}

fn put(root: &Root, path: &str, text: &str) {
    let path = root.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut bytes = unescaped(text);
    bytes.push(b'\n');
    std::fs::write(path, bytes).unwrap();
}

/// `{#}` and `{#+32}` become numbers.
fn numbered(text: &str, cpu: u32) -> String {
    let mut text = text.replace("{#}", &cpu.to_string());
    while let Some((start, rest)) = text.split_once("{#+") {
        let (more, end) = rest.split_once('}').unwrap();
        text = format!("{start}{}{end}", cpu + more.parse::<u32>().unwrap());
    }
    text
}

/// `{0-2|CPU#}` becomes `CPU0 CPU1 CPU2`.
fn repeated(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some((start, list, word, end)) = repetition(&text) {
        let words: Vec<String> = list
            .iter()
            .map(|cpu| word.replace('#', &cpu.to_string()))
            .collect();
        text = format!("{start}{}{end}", words.join(" "));
    }
    text
}

fn repetition(text: &str) -> Option<(String, CpuList, String, String)> {
    let (start, rest) = text.split_once('{')?;
    let (list, rest) = rest.split_once('|')?;
    let (word, end) = rest.split_once('}')?;
    Some((start.into(), list.parse().ok()?, word.into(), end.into()))
}

/// `\x18` becomes that byte.
fn unescaped(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        let (number, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(number, 16).unwrap());
        bytes.extend(rest.as_bytes());
    }
    bytes
}

#[test]
fn the_form_is_unpacked() {
    assert_eq!(numbered("{#},{#+32}", 5), "5,37");
    assert_eq!(repeated("a {0-2|CPU#} b {1|0}"), "a CPU0 CPU1 CPU2 b 0");
    assert_eq!(unescaped("a\\x01b"), [b'a', 1, b'b']);
    let machine = Machine::unpack("server");
    let siblings = "/sys/devices/system/cpu/cpu20/topology/thread_siblings_list";
    assert_eq!(machine.root.read(siblings).unwrap().unwrap(), "20,52");
}
