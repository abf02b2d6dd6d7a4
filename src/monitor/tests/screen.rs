// SPDX-License-Identifier: GPL-2.0-only
//! The screen of `artis top`, as a person reads it.

use crate::now::{
    Admitted, Cpu, Culprit, Holder, Lengths, Now, Partition, Role, Rt0, Rt1, SCHEMA, Wakeups, Watch,
};
use crate::top::state::{Asked, Sort, State};
use crate::top::view;
use artis_machine::CpuList;
use artis_machine::tasks::Policy;
use artis_sched::detector::Detector;
use artis_sched::status::Details;
use artis_task::kind::Kind;
use artis_watch::Histogram;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

fn details() -> Details {
    let list = |text: &str| CpuList::from_kernel(text).unwrap();
    Details {
        pid: 7,
        since: "2026-11-30T23:00:00Z".to_owned(),
        uptime_s: 60,
        kernel: "7.1".to_owned(),
        rt_cpus: list("2-3"),
        nrt_cpus: list("0-1"),
        rt_cpus_offline: list(""),
        detector: Detector::Syscall,
        detector_blind_spots: Vec::new(),
        counters: [("leaks_fault".to_owned(), 2), ("leaks_sleep".to_owned(), 1)].into(),
        linux_wait_ns_max: 12_345_600,
        leave_ns_max: 0,
        rt_cpu_times: Vec::new(),
    }
}

fn lengths(count: u64, max_ns: u64) -> Lengths {
    let mut counts = vec![0; 40];
    counts[30] = count;
    Lengths::of(&Histogram::new(&counts, max_ns))
}

fn thread(tid: i32, name: &str, worst_ns: u64) -> Rt0 {
    Rt0 {
        tid,
        pid: tid,
        name: name.to_owned(),
        class: Kind::Rt0,
        policy: Policy::Fifo,
        priority: 80,
        cpu: 2,
        wakeups: Some(Wakeups {
            rate: Some(1000.0),
            count: 5000,
            late: lengths(5000, worst_ns),
            queued: lengths(0, 0),
            above: Some(4),
            unseen: 0,
        }),
        admitted: Some(Admitted {
            bound_ns: Some(250_000),
            deadline_ns: 1_000_000,
            period_ns: 1_000_000,
            is_forced: false,
        }),
    }
}

fn cpu(number: u32, role: Role) -> Cpu {
    Cpu {
        cpu: number,
        role,
        busy: Some(0.5),
        stolen: Some(0.0),
        holder: Some(Holder {
            tid: 100 + number as i32,
            name: "worker".to_owned(),
            class: Kind::Linux,
            share: 0.4,
        }),
    }
}

fn now() -> Now {
    Now {
        schema: SCHEMA,
        tool: "0.1.0",
        kernel: "7.1".to_owned(),
        watched_s: 42.0,
        scheduler: Some(details()),
        watch: Watch {
            is_on: true,
            bound_ns: Some(100_000),
            ..Watch::default()
        },
        cpus: [0, 1]
            .map(|one| cpu(one, Role::Nrt))
            .into_iter()
            .chain([2, 3].map(|one| cpu(one, Role::Rt)))
            .collect(),
        rt0: vec![
            thread(11, "controller", 91_300),
            thread(12, "camera", 250_700),
        ],
        rt1: vec![Rt1 {
            tid: 21,
            pid: 21,
            name: "solver".to_owned(),
            level: 10,
            cpu: 3,
            share: Some(0.97),
        }],
        partition: Partition {
            changes: Some(34),
            drifted: vec!["/proc/irq/9/smp_affinity".to_owned()],
        },
        culprits: vec![Culprit {
            at: "2026-11-30T23:01:02Z".to_owned(),
            tid: 12,
            thread: "camera".to_owned(),
            late_ns: 250_700,
            lane: "device".to_owned(),
            who: Some("eth0".to_owned()),
            ns: 200_000,
        }],
        unknown: Vec::new(),
    }
}

/// What is on a terminal of this size.
fn screen(now: &Now, state: &State, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| view::draw(now, state, frame.area(), frame.buffer_mut()))
        .unwrap();
    view::lines(terminal.backend().buffer())
}

fn press(state: &mut State, text: &str) -> Asked {
    let mut asked = Asked::Nothing;
    for letter in text.chars() {
        let code = match letter {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            letter => KeyCode::Char(letter),
        };
        asked = state.key(KeyEvent::new(code, KeyModifiers::NONE));
    }
    asked
}

#[test]
fn eighty_columns_and_24_lines_have_all_that_matters() {
    let expected = "\
artis 0.1.0, Linux 7.1
RT CPUs 2-3, others 0-1, leaks 3, longest wait of others 12346 us
watched 42 s, late is above 100.0 us, partition of 34 settings, 1 drifted
 CPU role      busy stolen who
   2 RT         50%     0% Linux worker (102) 40%
   3 RT         50%     0% Linux worker (103) 40%
   0 NRT        50%     0% Linux worker (100) 40%
   1 NRT        50%     0% Linux worker (101) 40%
    tid name           CPU policy   rate/s  late  median   99.9%   worst   bound
     12 camera           2 FIFO 80    1000     4     7.7     7.7   250.7   250.0
     11 controller       2 FIFO 80    1000     4     7.7     7.7    91.3   250.0








    tid name, RT1+                                               CPU level share
     21 solver                                                     3    10   97%
who made the last late wakeups
23:01:02 camera: 250.7 us, 200.0 by eth0 (device)
q quit  h help  s sort: worst  / filter  space pause";
    assert_eq!(
        screen(&now(), &State::default(), 80, 24).join("\n"),
        expected
    );
}

#[test]
fn a_larger_screen_has_the_same_and_no_line_is_lost() {
    let small = screen(&now(), &State::default(), 80, 24);
    let large = screen(&now(), &State::default(), 120, 40);
    assert_eq!(large.len(), 40);
    let words = |lines: &[String]| -> Vec<String> {
        let lines = lines.iter().filter(|line| !line.is_empty());
        lines
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    assert_eq!(words(&large), words(&small));
}

#[test]
fn where_artis_does_not_schedule_it_is_said_and_the_rest_is_shown() {
    let mut now = now();
    now.scheduler = None;
    now.watch = Watch::default();
    now.rt0[0].wakeups = None;
    now.rt0[0].admitted = None;
    now.culprits.clear();
    now.unknown = vec![
        "wakeups cannot be watched: BPF tracing is not permitted; run artis as root, \
                        or with the capabilities CAP_BPF and CAP_PERFMON"
            .to_owned(),
    ];
    let lines = screen(&now, &State::default(), 80, 24);
    assert_eq!(lines[1], "artis does not schedule here");
    assert!(lines[2].starts_with("wakeups are not watched"), "{lines:?}");
    assert!(
        lines[3].contains("BPF tracing is not permitted"),
        "{lines:?}"
    );
    assert!(lines[4].contains("CAP_PERFMON"), "{lines:?}");
    let unwatched = lines
        .iter()
        .find(|line| line.contains("controller"))
        .unwrap();
    let words: Vec<&str> = unwatched.split_whitespace().collect();
    assert_eq!(words[5..], ["-"; 6], "{unwatched}");
    assert!(
        lines.iter().all(|line| !line.contains("who made")),
        "{lines:?}"
    );
}

#[test]
fn no_name_steers_the_terminal_or_moves_a_column() {
    let mut now = now();
    let hostile = "\x1b[2J\x07\u{202e}\n漢字漢字漢字漢字漢字漢字漢字漢字漢字";
    now.rt0[0].name = hostile.to_owned();
    now.rt1[0].name = hostile.to_owned();
    now.cpus[2].holder.as_mut().unwrap().name = hostile.to_owned();
    now.culprits[0].who = Some(hostile.to_owned());
    now.culprits[0].thread = hostile.to_owned();
    now.unknown = vec![hostile.to_owned()];
    let state = State {
        filter: String::new(),
        ..State::default()
    };
    for (width, height) in [(80, 24), (120, 40), (20, 5), (1, 1), (300, 3)] {
        let lines = screen(&now, &state, width, height);
        assert_eq!(lines.len(), usize::from(height));
        let steers = |letter: char| letter.is_control() || letter == '\u{202e}';
        assert!(lines.iter().all(|line| !line.contains(steers)), "{lines:?}");
    }
    let lines = screen(&now, &state, 80, 24);
    let row = lines
        .iter()
        .find(|line| line.starts_with("     11 "))
        .unwrap();
    assert!(row.ends_with("91.3   250.0"), "{row}");
}

#[test]
fn of_many_cpus_those_of_real_time_are_shown_and_the_rest_counted() {
    let mut now = now();
    now.cpus = (0..512)
        .map(|one| cpu(one, if one == 500 { Role::Rt } else { Role::Nrt }))
        .collect();
    let lines = screen(&now, &State::default(), 80, 24);
    assert!(lines[4].starts_with(" 500 RT"), "{lines:?}");
    let more = lines
        .iter()
        .find(|line| line.contains("more CPUs"))
        .unwrap();
    let shown = lines
        .iter()
        .filter(|line| line.contains("Linux worker"))
        .count();
    assert!(
        more.ends_with(&format!("and {} more CPUs", 512 - shown)),
        "{lines:?}"
    );
    assert!(
        lines.iter().any(|line| line.contains("controller")),
        "{lines:?}"
    );
    // Printed, all of them are there.
    let page = view::page(&now, &State::default(), 80);
    assert_eq!(page.matches("Linux worker").count(), 512);
    assert!(page.contains("controller") && page.contains("solver") && page.contains("eth0"));
}

#[test]
fn keys_sort_filter_pause_scroll_and_help() {
    let now = now();
    let mut state = State::default();
    let first = |state: &State| state.rt0(&now.rt0)[0].tid;
    assert_eq!(first(&state), 12);
    press(&mut state, "r");
    assert_eq!(first(&state), 11);
    press(&mut state, "r");
    for _ in 0..Sort::ALL.len() {
        press(&mut state, "s");
    }
    assert_eq!(state.sort, Sort::Worst);
    press(&mut state, "/CONT");
    // Letters that are keys are letters of a filter.
    assert!(screen(&now, &state, 80, 24)[23].starts_with("filter: CONT_"));
    press(&mut state, "\n");
    assert_eq!(state.rt0(&now.rt0).len(), 1);
    press(&mut state, "/x\n");
    let lines = screen(&now, &state, 80, 24);
    assert!(
        lines
            .iter()
            .any(|line| line == "no real-time thread has such a name"),
        "{lines:?}"
    );
    assert_eq!(press(&mut state, "\x1b"), Asked::Nothing);
    assert_eq!(state.filter, "");
    press(&mut state, " ");
    assert!(screen(&now, &state, 80, 24)[23].contains("PAUSED"));
    press(&mut state, " jjjjjjj");
    assert!(
        screen(&now, &state, 80, 24)
            .iter()
            .any(|line| line.contains("controller"))
    );
    press(&mut state, "?");
    let lines = screen(&now, &state, 80, 24);
    assert!(
        lines
            .iter()
            .any(|line| line.contains("sort by worst, 99.9%, late")),
        "{lines:?}"
    );
    assert!(
        lines.iter().any(|line| line.contains("any key goes back")),
        "{lines:?}"
    );
    // The key only ends the help.
    assert_eq!(press(&mut state, "q"), Asked::Nothing);
    assert_eq!(press(&mut state, "q"), Asked::Quit);
    let stop = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    state.is_typing = true;
    assert_eq!(state.key(stop), Asked::Quit);
}

#[test]
fn figures_of_queued_wakeups_are_marked() {
    let mut now = now();
    let wakeups = now.rt0[1].wakeups.as_mut().unwrap();
    std::mem::swap(&mut wakeups.late, &mut wakeups.queued);
    let lines = screen(&now, &State::default(), 80, 24);
    let row = lines.iter().find(|line| line.contains("camera")).unwrap();
    assert!(row.contains("7.7q    7.7q   250.7"), "{row}");
}
