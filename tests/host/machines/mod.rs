// SPDX-License-Identifier: GPL-2.0-only
//! What each command says of the same machine: `partition plan` and `apply`, `sched run` and its
//! `--check`, and `check` decide by the same facts, so none disagrees with another. Each machine is
//! the canned workstation with one thing forbidden; those that can be booted are, in
//! `tests/qemu/machines.rs`.

mod rows;

use crate::check::machines::Machine;
use artis::check::{Report, Subject};
use artis::machine::facts::Facts;
use artis::machine::{CpuList, Root};
use artis::partition::apply::{self, apply};
use artis::partition::change::Kind;
use artis::partition::host::Host;
use artis::partition::plan::{Plan, Request};
use artis::sched::detector::Detector;
use artis::sched::prospect::Prospect;
use artis::sched::service::Error;
use rows::{ROWS, Row};

/// What every command says of one machine.
struct Said {
    /// What the plan leaves: kind and reason.
    left: Vec<(Kind, String)>,
    /// Groups of others, by `partition plan` and by `sched run`.
    claims: Vec<String>,
    claims_of_sched: Vec<String>,
    /// There is the shield, or it would be made.
    has_shield: bool,
    /// What keeps `artis sched run` from running.
    missing: Vec<String>,
    /// What `artis sched run` leaves.
    left_by_sched: Vec<(Kind, String)>,
    /// Why `partition apply --shield` changes nothing.
    refusal: Option<String>,
    report: Report,
}

impl Said {
    fn of(root: &Root, rt: &CpuList) -> Self {
        let request = Request {
            shield: true,
            ..Request::new(root, rt).unwrap()
        };
        let plan = Plan::make(root, &request);
        let facts = Facts::read(root);
        let subject = Subject::choose(&facts, Some(rt.clone()), None);
        let left = |plan: &[artis::partition::plan::Left]| -> Vec<_> {
            plan.iter().map(|one| (one.id, one.why.clone())).collect()
        };
        let (missing, left_by_sched, claims_of_sched) =
            match Prospect::of(root, rt, Detector::Syscall) {
                Ok(prospect) => (Vec::new(), left(&prospect.left), words(&prospect.claims)),
                Err(Error::Missing(missing)) => (missing, Vec::new(), Vec::new()),
                Err(error) => panic!("{error}"),
            };
        let mut kinds = plan.changes.iter().map(|one| one.kind);
        let has_shield =
            kinds.any(|kind| kind == Kind::CpusetShield) || facts.shield.get() == Some(rt);
        // The last one, because it changes the machine.
        let refusal = match apply(&Host::at(root.clone()), &request, &mut |_| {}) {
            Ok(made) => {
                assert_eq!(left(&made.plan.left), left(&plan.left), "plan and apply");
                None
            }
            Err(error @ apply::Error::Claimed(_)) => Some(error.to_string()),
            Err(error) => panic!("{error:?}"),
        };
        Self {
            left: left(&plan.left),
            claims: words(&plan.claims),
            claims_of_sched,
            has_shield,
            missing,
            left_by_sched,
            refusal,
            report: Report::new(facts, subject),
        }
    }

    fn why(&self, kind: Kind) -> Option<&str> {
        why(&self.left, kind)
    }

    fn finding(&self, id: &str) -> Option<&artis::check::Finding> {
        self.report.findings.iter().find(|one| one.id == id)
    }

    /// All that `artis check` advises.
    fn advice(&self) -> String {
        let fixes = self.report.findings.iter();
        fixes
            .filter_map(|one| one.fix.as_deref())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

fn why(left: &[(Kind, String)], kind: Kind) -> Option<&str> {
    let found = left.iter().find(|(id, _)| *id == kind);
    found.map(|(_, why)| why.as_str())
}

fn words(claims: &[artis::machine::cpusets::Claim]) -> Vec<String> {
    claims.iter().map(ToString::to_string).collect()
}

/// The rules that hold on each machine.
#[track_caller]
fn agree(name: &str, said: &Said, rt: &CpuList) {
    let debugfs = said.report.facts.scheduler_debugfs.get().unwrap();
    let servers = said.why(Kind::DeadlineServers);
    assert_eq!(servers, debugfs.obstacle().as_deref(), "{name}: servers");
    let finding = said.finding("no_debugfs");
    assert_eq!(finding.is_some(), servers.is_some(), "{name}: no_debugfs");
    if let (Some(finding), Some(servers)) = (finding, servers) {
        let (_, reason) = finding.seen.split_once(": ").unwrap();
        assert!(servers.starts_with(reason), "{name}: {servers}");
    }
    if said.missing.is_empty() {
        let of_sched = why(&said.left_by_sched, Kind::DeadlineServers);
        assert_eq!(of_sched, servers, "{name}: sched run and plan");
        for claim in &said.claims_of_sched {
            assert!(said.claims.contains(claim), "{name}: {claim}");
            let seen = &said.finding("claimed_cpus").unwrap().seen;
            assert!(seen.contains(claim.as_str()), "{name}: {seen}");
        }
    }
    // Nobody is sent where he would be turned away.
    let advice = said.advice();
    let can_share = said.missing.is_empty();
    let shares = advice.contains(&format!("artis sched run --rt {rt}`"));
    assert!(!shares || can_share, "{name}: {:?}: {advice}", said.missing);
    let shielded = advice.contains("--shield");
    assert!(!shielded || said.has_shield, "{name}: {advice}");
    assert_eq!(
        said.has_shield,
        said.why(Kind::CpusetShield).is_none(),
        "{name}: shield"
    );
    if said.refusal.is_some() {
        assert!(
            said.has_shield,
            "{name}: who can have no shield is not asked for --force"
        );
    }
}

#[test]
fn no_command_disagrees_with_another() {
    for Row {
        name,
        changes,
        rt,
        missing,
        left,
        refused,
        finding,
    } in ROWS
    {
        let machine = Machine::unpack("workstation").with(changes);
        rows::describe_types(&machine.root);
        let rt = rt.parse().unwrap();
        let said = Said::of(&machine.root, &rt);
        agree(name, &said, &rt);
        assert_eq!(
            said.missing.is_empty(),
            missing.is_empty(),
            "{name}: {:?}",
            said.missing
        );
        assert!(
            said.missing.join(" ").contains(missing),
            "{name}: {:?}",
            said.missing
        );
        for (kind, words) in *left {
            let why = said.why(*kind);
            let why = why.unwrap_or_else(|| panic!("{name}: {kind} is not left"));
            assert!(why.contains(words), "{name}: {why}");
        }
        let refusal = said.refusal.as_deref().unwrap_or_default();
        assert_eq!(refusal.is_empty(), refused.is_empty(), "{name}: {refusal}");
        assert!(refusal.contains(refused), "{name}: {refusal}");
        if let Some((id, words)) = finding {
            let found = said.finding(id);
            let found = found.unwrap_or_else(|| panic!("{name}: no {id}"));
            assert!(found.seen.contains(words), "{name}: {}", found.seen);
        }
    }
}

/// `check` sees what nobody changed: the row's machine without any change has no such finding.
#[test]
fn on_the_workstation_nothing_is_left_or_refused() {
    let machine = Machine::unpack("workstation");
    rows::describe_types(&machine.root);
    let rt = "1".parse().unwrap();
    let said = Said::of(&machine.root, &rt);
    agree("workstation", &said, &rt);
    assert_eq!(said.missing, Vec::<String>::new());
    assert_eq!(said.left_by_sched, []);
    assert!(said.has_shield && said.claims.is_empty() && said.refusal.is_none());
    let advice = said.advice();
    for words in ["artis sched run --rt 1`", "--shield"] {
        assert!(advice.contains(words), "{words}: {advice}");
    }
}
