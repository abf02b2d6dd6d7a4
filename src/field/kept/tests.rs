// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use artis_result::{Distribution, Kind, Machine, Series, Setup, Unit, Warning};
use artis_testing::canned;

fn setting() -> Setting {
    Setting {
        rt: 1,
        seconds: 60.0,
        load: "hackbench".to_owned(),
        rest_command: None,
    }
}

fn here() -> Here {
    Here {
        cpu_model: Some("A CPU".to_owned()),
        cpus: "0-3".to_owned(),
    }
}

/// A run of this kernel, disturbed by this.
fn document(kernel: &str, cause: Option<&str>) -> Document {
    let mut document = Document::new(Setup::default());
    document.machine = Some(Machine::of_kernel(kernel.to_owned()));
    let mut latency = Distribution::new();
    latency.record(1000);
    document.series.push(Series::new(
        "latency",
        Kind::Latency,
        Unit::Nanoseconds,
        latency,
    ));
    document.audit.extend(cause.map(|id| Warning {
        id: id.to_owned(),
        seen: String::new(),
        why: String::new(),
        fix: None,
    }));
    document
}

const MACHINE: [(&str, &str); 2] = [
    ("etc/machine-id", "one\n"),
    ("proc/sys/kernel/random/uuid", "1234\n"),
];

/// A folder of runs, and the machine that made it.
struct Made {
    folder: tempfile::TempDir,
    _files: tempfile::TempDir,
    root: Root,
}

impl Made {
    fn new() -> Self {
        let (files, root) = canned(&MACHINE);
        let made = Self {
            folder: tempfile::tempdir().unwrap(),
            _files: files,
            root,
        };
        made.look().unwrap().begin().unwrap();
        made
    }

    fn look(&self) -> Result<Kept, Error> {
        Kept::look(&self.root, self.folder.path(), &here(), &setting())
    }

    fn add(&self, way: &str, document: Document) {
        let mut kept = self.look().unwrap();
        let place = kept.next(way).unwrap();
        kept.add(way, place, document).unwrap();
    }
}

#[test]
fn runs_go_on_where_they_ended_and_kernels_are_apart() {
    let made = Made::new();
    made.add("stock", document("6.18", None));
    made.add("stock", document("6.18", Some("unclean_login")));
    made.add("stock", document("6.12-rt", None));
    made.add("tuned", document("6.18", None));
    for foreign in ["stock-1.rest.json", "bobs-pc-1.json", "work.json"] {
        std::fs::write(made.folder.path().join(foreign), "{}").unwrap();
    }
    let kept = made.look().unwrap();
    assert_eq!(kept.runs.len(), 4);
    assert_eq!(kept.damaged, [""; 0]);
    let numbers = |way, boot: &Boot| -> Vec<u32> {
        kept.pooled(way, boot)
            .iter()
            .map(|run| run.number)
            .collect()
    };
    let boot = kept.runs[0].boot.clone();
    assert_eq!(numbers("stock", &boot), [1]);
    assert_eq!(kept.of("stock", &boot).count(), 2);
    assert_eq!(numbers("stock", &kept.runs[2].boot), [3]);
    assert_eq!(numbers("tuned", &boot), [1]);
    assert_eq!(kept.next("stock").unwrap().0, 4);
}

#[test]
fn half_of_a_file_is_not_counted_and_never_overwritten() {
    let made = Made::new();
    made.add("stock", document("6.18", None));
    let path = made.folder.path().join("stock-1.json");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    std::fs::write(made.folder.path().join(".artis-unfinished-x"), "{").unwrap();
    let kept = made.look().unwrap();
    assert!(kept.runs.is_empty());
    assert!(
        kept.damaged[0].contains("stock-1.json"),
        "{:?}",
        kept.damaged
    );
    assert_eq!(kept.next("stock").unwrap().0, 2);
    kept.begin().unwrap();
    assert!(!made.folder.path().join(".artis-unfinished-x").exists());
    assert!(path.exists());
}

#[test]
fn what_does_not_belong_there_is_refused_with_what_to_type() {
    let made = Made::new();
    let refused = |root: &Root, here: Here, setting: Setting| {
        let error = Kept::look(root, made.folder.path(), &here, &setting).unwrap_err();
        error.to_string()
    };
    let (_files, twin) = canned(&[("etc/machine-id", "another\n")]);
    let rows = [
        (refused(&twin, here(), setting()), "another machine"),
        (
            refused(
                &made.root,
                Here {
                    cpus: "0-7".to_owned(),
                    ..here()
                },
                setting(),
            ),
            "CPUs 0-3; this one is A CPU, CPUs 0-7",
        ),
        (
            refused(
                &made.root,
                here(),
                Setting {
                    seconds: 5.0,
                    ..setting()
                },
            ),
            "measured with -D 60s, and this command says 5s",
        ),
        (
            refused(
                &made.root,
                here(),
                Setting {
                    load: "io".to_owned(),
                    ..setting()
                },
            ),
            "the load hackbench, and this command says io",
        ),
    ];
    for (error, part) in rows {
        assert!(error.contains(part), "{error}");
        assert!(error.contains("--keep OTHER"), "{error}");
    }
    // The same machine without its id, as an ordinary user sees it, is taken at its word.
    let (_files, blind) = canned(&[]);
    assert!(Kept::look(&blind, made.folder.path(), &here(), &setting()).is_ok());
}

#[test]
fn damaged_and_foreign_folders_are_refused() {
    let made = Made::new();
    let path = made.folder.path().join(FILE);
    std::fs::write(&path, "{\"schema\": ").unwrap();
    let error = made.look().unwrap_err().to_string();
    assert!(error.contains("move it away"), "{error}");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(made.folder.path().join("stock-1.json"), "{}").unwrap();
    let error = made.look().unwrap_err().to_string();
    assert!(
        error.contains("stock-1.json and no measurement.json"),
        "{error}"
    );
}

#[test]
fn the_folder_says_nothing_of_who_the_machine_is() {
    let made = Made::new();
    let text = std::fs::read_to_string(made.folder.path().join(FILE)).unwrap();
    assert!(text.contains("1234") && !text.contains("\"one\""), "{text}");
}

#[test]
fn a_mark_stays_until_the_machine_is_as_before() {
    let made = Made::new();
    let kept = made.look().unwrap();
    assert_eq!(kept.marked(), None);
    kept.mark("tuned").unwrap();
    assert_eq!(made.look().unwrap().marked().as_deref(), Some("tuned"));
    kept.unmark();
    assert_eq!(kept.marked(), None);
}
