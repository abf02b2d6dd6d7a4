// SPDX-License-Identifier: GPL-2.0-only
//! Files of many machines side by side: which machine, kernel or setting stands out.
//!
//! A machine stands for itself in each configuration by the middle of its runs' worsts, so a
//! machine with many runs counts no more than one with few. A machine stands out where it lies
//! beyond Tukey's outer fences of the others (J. W. Tukey, "Exploratory Data Analysis", 1977), on a
//! logarithmic scale: latencies spread over decades. A kernel or a setting stands out where the
//! machines that have it differ from those that do not ([`mann_whitney`]), at a level of 5 % for
//! all questions together. It is no proof of a cause: machines differ in more than one thing.

use crate::column::{Column, median};
use crate::hand_on::HandOn;
use crate::mann_whitney::{significant, two_sided};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The chance of any wrong answer about kernels and settings.
const LEVEL: f64 = 0.05;
/// Tukey's outer fences stand so many times the middle half's width beyond it.
const FENCE: f64 = 3.0;
/// Quarters of fewer machines say nothing.
const FENCED_MIN: usize = 8;

/// All files together.
#[derive(Debug, PartialEq, Serialize)]
pub struct Joined {
    pub machines: usize,
    pub ways: Vec<Way>,
    pub standing_out: Vec<Machine>,
    pub groups: Vec<Group>,
    /// How long runs were, shortest and longest: a longer one has a worse worst.
    pub seconds: Option<(f64, f64)>,
    pub loads: BTreeSet<String>,
    /// How many kernels and settings were asked about.
    pub questions: usize,
}

/// One configuration on all machines, us.
#[derive(Debug, PartialEq, Serialize)]
pub struct Way {
    pub way: String,
    pub machines: usize,
    pub runs: usize,
    pub runs_left_out: usize,
    pub least: f64,
    pub middle: f64,
    pub largest: f64,
    /// On how many machines that have both it was better than stock.
    pub better_than_stock: Option<(usize, usize)>,
}

/// A machine that lies beyond the fences.
#[derive(Debug, PartialEq, Serialize)]
pub struct Machine {
    /// The file.
    pub name: String,
    pub model: String,
    pub way: String,
    pub us: f64,
    /// Against the middle of all.
    pub times: f64,
}

/// What some machines have and others do not, and the difference that goes with it.
#[derive(Debug, PartialEq, Serialize)]
pub struct Group {
    pub what: String,
    pub value: String,
    pub way: String,
    pub with: usize,
    pub without: usize,
    /// The middle of those that have it against that of the others.
    pub times: f64,
    pub p: f64,
}

/// The same file twice.
#[derive(Debug, thiserror::Error)]
#[error("{one} and {other} are files of one machine's folder; leave the older one out")]
pub struct Twice {
    one: String,
    other: String,
}

/// A machine in one configuration.
struct Place<'a> {
    name: &'a str,
    file: &'a HandOn,
    column: &'a Column,
    us: f64,
}

/// Joins them; each with the name of its file.
///
/// # Errors
/// [`Twice`].
pub fn join(files: &[(String, HandOn)]) -> Result<Joined, Twice> {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, file) in files {
        if let Some(one) = known.insert(&file.id, name) {
            return Err(Twice {
                one: one.to_owned(),
                other: name.clone(),
            });
        }
    }
    let mut by_way: BTreeMap<&str, Vec<Place>> = BTreeMap::new();
    for (name, file) in files {
        for column in &file.columns {
            if let Some(worsts) = column.worsts() {
                by_way.entry(&column.way).or_default().push(Place {
                    name,
                    file,
                    column,
                    us: worsts.middle,
                });
            }
        }
    }
    let ways = by_way.iter().map(|(name, all)| way(name, all, &by_way));
    let mut asked: Vec<Group> = by_way
        .iter()
        .flat_map(|(way, all)| groups(way, all))
        .collect();
    let questions = asked.len();
    let p: Vec<f64> = asked.iter().map(|group| group.p).collect();
    let mut is_one = significant(&p, LEVEL).into_iter();
    asked.retain(|_| is_one.next().unwrap_or(false));
    asked.sort_by(|one, other| one.p.total_cmp(&other.p));
    Ok(Joined {
        machines: files.len(),
        ways: ways.collect(),
        standing_out: by_way
            .iter()
            .flat_map(|(way, all)| beyond(way, all))
            .collect(),
        groups: asked,
        seconds: seconds(files),
        loads: files.iter().map(|(_, file)| file.load.clone()).collect(),
        questions,
    })
}

fn seconds(files: &[(String, HandOn)]) -> Option<(f64, f64)> {
    let columns = files.iter().flat_map(|(_, file)| &file.columns);
    let runs = columns.flat_map(Column::pooled);
    let all = ascending(runs.map(|run| run.seconds));
    Some((*all.first()?, *all.last()?))
}

fn ascending(all: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = all.collect();
    all.sort_by(f64::total_cmp);
    all
}

fn way(name: &str, all: &[Place], by_way: &BTreeMap<&str, Vec<Place>>) -> Way {
    let us = ascending(all.iter().map(|place| place.us));
    let runs = all.iter().flat_map(|place| &place.column.runs);
    let (pooled, left_out): (Vec<_>, Vec<_>) = runs.partition(|run| run.is_pooled);
    let stock: BTreeMap<(&str, &crate::boot::Boot), f64> = by_way
        .get("stock")
        .into_iter()
        .flatten()
        .map(|place| ((place.name, &place.column.boot), place.us))
        .collect();
    // On the same boot of the same machine.
    let both: Vec<bool> = all
        .iter()
        .filter_map(|place| {
            let of_stock = stock.get(&(place.name, &place.column.boot))?;
            Some(place.us < *of_stock)
        })
        .collect();
    let machines: BTreeSet<&str> = all.iter().map(|place| place.name).collect();
    Way {
        way: name.to_owned(),
        machines: machines.len(),
        runs: pooled.len(),
        runs_left_out: left_out.len(),
        least: us.first().copied().unwrap_or(0.0),
        middle: median(&us).unwrap_or(0.0),
        largest: us.last().copied().unwrap_or(0.0),
        better_than_stock: (name != "stock" && !both.is_empty())
            .then(|| (both.iter().filter(|is| **is).count(), both.len())),
    }
}

/// Those beyond the outer fences.
fn beyond(way: &str, all: &[Place]) -> Vec<Machine> {
    let logarithms = ascending(all.iter().map(|place| place.us.max(f64::MIN_POSITIVE).ln()));
    if logarithms.len() < FENCED_MIN {
        return Vec::new();
    }
    let half = logarithms.len() / 2;
    let low = median(&logarithms[..half]).unwrap_or(0.0);
    let high = median(&logarithms[logarithms.len() - half..]).unwrap_or(0.0);
    let reach = FENCE * (high - low);
    let middle = median(&logarithms).unwrap_or(0.0);
    let is_out = |place: &&Place| {
        let at = place.us.max(f64::MIN_POSITIVE).ln();
        at < low - reach || at > high + reach
    };
    let mut found: Vec<Machine> = all
        .iter()
        .filter(is_out)
        .map(|place| Machine {
            name: place.name.to_owned(),
            model: model(place.file),
            way: way.to_owned(),
            us: place.us,
            times: place.us / middle.exp(),
        })
        .collect();
    found.sort_by(|one, other| other.us.total_cmp(&one.us));
    found
}

fn model(file: &HandOn) -> String {
    let of = &file.hardware;
    let words = [&of.vendor, &of.product, &of.cpu_model];
    let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
    words.join(", ")
}

/// What a machine has, by what it is.
fn aspects<'a>(place: &'a Place) -> Vec<(&'a str, &'a str)> {
    let of = &place.file.hardware;
    let boot = &place.column.boot;
    let hardware = [
        ("CPU", of.cpu_model.as_deref()),
        ("vendor", of.vendor.as_deref()),
        ("firmware", of.firmware.as_deref()),
        (
            "virtualisation",
            Some(of.virtualisation.as_deref().unwrap_or("none")),
        ),
        ("load", Some(place.file.load.as_str())),
        ("kernel", Some(boot.kernel.as_str())),
        ("preemption", Some(boot.preemption.as_str())),
    ];
    let hardware = hardware
        .into_iter()
        .filter_map(|(what, value)| Some((what, value?)));
    let settings = place.file.settings.iter();
    let settings = settings.map(|(what, value)| (what.as_str(), value.as_str()));
    let arguments = boot
        .arguments
        .iter()
        .map(|one| ("boot argument", one.as_str()));
    hardware.chain(settings).chain(arguments).collect()
}

/// One question for each value that some machines have and others do not.
fn groups(way: &str, all: &[Place]) -> Vec<Group> {
    let mut with: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (at, place) in all.iter().enumerate() {
        for aspect in aspects(place) {
            with.entry(aspect).or_default().push(at);
        }
    }
    let asked = with.into_iter().filter_map(|((what, value), members)| {
        let is_member: BTreeSet<usize> = members.iter().copied().collect();
        let ours = ascending(members.iter().map(|at| all[*at].us));
        let others = (0..all.len()).filter(|at| !is_member.contains(at));
        let others = ascending(others.map(|at| all[at].us));
        Some(Group {
            what: what.to_owned(),
            value: value.to_owned(),
            way: way.to_owned(),
            with: ours.len(),
            without: others.len(),
            p: two_sided(&ours, &others)?,
            times: median(&ours)? / median(&others)?,
        })
    });
    asked.collect()
}

#[cfg(test)]
mod tests;
