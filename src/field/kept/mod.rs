// SPDX-License-Identifier: GPL-2.0-only
//! The folder that a measurement goes on in: what is being measured there, and the runs that are
//! whole.
//!
//! Each run is one result file, which appears whole or not at all; so the files are the state, and
//! an interruption at any point loses at most the run that was going on. `measurement.json` says
//! what belongs there, so that runs of another machine or under another load are never mixed with
//! them. It stays on the machine, and is no file to hand on.

use crate::boot::Boot;
use crate::clean::{self, Cause};
use artis_machine::Root;
use artis_result::file::{self, Target};
use artis_result::{Document, target};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The schema's name.
const SCHEMA: &str = "artis.measurement/1";
const FILE: &str = "measurement.json";
/// There while a configuration is in force.
const MARK: &str = "in-progress";
/// What identifies a machine, the first that it has: of its board, of its system.
const IDENTITIES: [&str; 2] = ["/sys/class/dmi/id/product_uuid", "/etc/machine-id"];
const RANDOM: &str = "/proc/sys/kernel/random/uuid";

/// The configurations that a folder may have, in the order of tables.
pub const WAYS: [&str; 6] = ["stock", "tuned", "shield", "artis", "rt", "artis-rt"];

/// How all runs of a folder are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    pub rt: u32,
    pub seconds: f64,
    pub load: String,
    /// The job's other work, if a command stands for it.
    pub rest_command: Option<Vec<String>>,
}

/// What `measurement.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measurement {
    schema: String,
    /// Made at random for this folder, and of no machine.
    id: String,
    /// A hash of the id and of the machine's identity, so that only this machine knows it again.
    machine: Option<String>,
    cpu_model: Option<String>,
    cpus: String,
    setting: Setting,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {what} {path}: {source}; {next}", path = path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
        next: &'static str,
    },
    #[error("{0}; move it away, or name another folder: --keep OTHER")]
    Damaged(file::Error),
    #[error(
        "{folder} holds runs of another machine ({there}; this one is {here}); name another folder: \
         --keep OTHER", folder = folder.display()
    )]
    OtherMachine {
        folder: PathBuf,
        there: String,
        here: String,
    },
    #[error(
        "{folder} was measured with {what} {there}, and this command says {here}; type the same, or \
         name another folder: --keep OTHER", folder = folder.display()
    )]
    OtherSetting {
        folder: PathBuf,
        what: &'static str,
        there: String,
        here: String,
    },
    #[error(
        "{folder} holds {file} and no {FILE}, so nobody knows what its runs have in common; name \
         another folder: --keep OTHER", folder = folder.display()
    )]
    Unknown { folder: PathBuf, file: String },
    #[error("{}; free some space, and type the same command: it goes on", chain(.0))]
    Write(#[from] target::Error),
}

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// One whole run.
#[derive(Clone, Debug)]
pub struct Run {
    /// `stock`, `artis`.
    pub way: String,
    pub number: u32,
    pub path: PathBuf,
    pub boot: Boot,
    pub document: Document,
}

impl Run {
    pub fn causes(&self) -> Vec<Cause> {
        clean::causes(&self.document)
            .map(|(cause, _)| cause)
            .collect()
    }
}

/// A folder of runs, which this process alone adds to.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
    measurement: Measurement,
    pub runs: Vec<Run>,
    /// Files that are no whole runs, and why; they are left where they are.
    pub damaged: Vec<String>,
}

/// What this machine is called beside others.
pub struct Here {
    pub cpu_model: Option<String>,
    pub cpus: String,
}

impl Kept {
    /// Looks at a folder, which need not exist, and changes nothing.
    ///
    /// # Errors
    /// [`Error`]: it is another machine's, was measured otherwise, or cannot be read.
    pub fn look(root: &Root, folder: &Path, here: &Here, setting: &Setting) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let fresh = || Measurement {
            schema: SCHEMA.to_owned(),
            id: root.hint(RANDOM).unwrap_or_default(),
            machine: None,
            cpu_model: here.cpu_model.clone(),
            cpus: here.cpus.clone(),
            setting: setting.clone(),
        };
        let mut kept = Self {
            folder: folder.to_owned(),
            measurement: match path.exists() {
                true => file::read_text(&path)
                    .and_then(|text| file::parse_as(&path, &text))
                    .map_err(Error::Damaged)?,
                false => fresh(),
            },
            runs: Vec::new(),
            damaged: Vec::new(),
        };
        let mark = identity(root, &kept.measurement.id);
        match path.exists() {
            true => kept.refuse_others(mark, here, setting)?,
            false => kept.measurement.machine = mark,
        }
        kept.read_runs(path.exists())?;
        Ok(kept)
    }

    fn refuse_others(
        &self,
        mark: Option<String>,
        here: &Here,
        setting: &Setting,
    ) -> Result<(), Error> {
        let there = &self.measurement;
        let words = |model: &Option<String>, cpus: &str| {
            format!("{}, CPUs {cpus}", model.as_deref().unwrap_or("unknown CPU"))
        };
        let differs = |one: &Option<String>, other: &Option<String>| {
            one.as_ref()
                .zip(other.as_ref())
                .is_some_and(|(one, other)| one != other)
        };
        if there.cpus != here.cpus
            || differs(&there.cpu_model, &here.cpu_model)
            || differs(&there.machine, &mark)
        {
            return Err(Error::OtherMachine {
                folder: self.folder.clone(),
                there: words(&there.cpu_model, &there.cpus),
                here: words(&here.cpu_model, &here.cpus),
            });
        }
        let command = |setting: &Setting| match &setting.rest_command {
            Some(words) => words.join(" "),
            None => "none".to_owned(),
        };
        let of = &there.setting;
        let rows = [
            ("--rt", of.rt.to_string(), setting.rt.to_string()),
            (
                "-D",
                format!("{}s", of.seconds),
                format!("{}s", setting.seconds),
            ),
            ("the load", of.load.clone(), setting.load.clone()),
            ("the other command", command(of), command(setting)),
        ];
        match rows.into_iter().find(|(_, there, here)| there != here) {
            None => Ok(()),
            Some((what, there, here)) => Err(Error::OtherSetting {
                folder: self.folder.clone(),
                what,
                there,
                here,
            }),
        }
    }

    fn read_runs(&mut self, is_known: bool) -> Result<(), Error> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(|source| self.io("read the folder", source))?,
        };
        let mut names: Vec<(String, &str, u32)> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter_map(|name| {
                let (way, number) = name.strip_suffix(".json")?.rsplit_once('-')?;
                // Other files are somebody's own.
                let known = WAYS.into_iter().find(|known| *known == way)?;
                Some((name.clone(), known, number.parse().ok()?))
            })
            .collect();
        names.sort_by_key(|one| (one.1, one.2));
        for (name, way, number) in names {
            if !is_known {
                return Err(Error::Unknown {
                    folder: self.folder.clone(),
                    file: name,
                });
            }
            let path = self.folder.join(&name);
            let document = match file::read(&path) {
                Ok(document) => document,
                Err(error) => {
                    self.damaged
                        .push(format!("{}; it is not counted", chain(&error)));
                    continue;
                }
            };
            match &document.machine {
                Some(machine) => self.runs.push(Run {
                    boot: Boot::of(machine),
                    way: way.to_owned(),
                    number,
                    path,
                    document,
                }),
                None => self.damaged.push(format!(
                    "{}: it does not say on which kernel it was measured; it is not counted",
                    path.display()
                )),
            }
        }
        Ok(())
    }

    fn io(&self, what: &'static str, source: io::Error) -> Error {
        Error::Io {
            what,
            path: self.folder.clone(),
            source,
            next: "name a folder that you may write to, with free space: --keep OTHER",
        }
    }

    /// Makes the folder, if need be, and says in it what is measured there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(&self) -> Result<(), Error> {
        fs::create_dir_all(&self.folder).map_err(|source| self.io("create the folder", source))?;
        self.remove_unfinished();
        if !self.folder.join(FILE).exists() {
            Target::open(&self.folder.join(FILE))?.write_document(&self.measurement)?;
            self.sync();
        }
        Ok(())
    }

    /// What a killed artis was writing; nobody else writes here.
    fn remove_unfinished(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.to_string_lossy().starts_with(".artis-unfinished-") {
                // It is only in the way.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// A name that only this folder has, and that says nothing of the machine.
    pub fn id(&self) -> &str {
        &self.measurement.id
    }

    pub fn setting(&self) -> &Setting {
        &self.measurement.setting
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The runs of a configuration that count, of this boot.
    pub fn pooled(&self, way: &str, boot: &Boot) -> Vec<&Run> {
        let runs: Vec<&Run> = self.of(way, boot).collect();
        let causes: Vec<Vec<Cause>> = runs.iter().map(|run| run.causes()).collect();
        let pooled = clean::pooled(&causes).into_iter();
        let all = runs.into_iter().zip(pooled);
        all.filter_map(|(run, is_pooled)| is_pooled.then_some(run))
            .collect()
    }

    /// All runs of a configuration, of this boot.
    pub fn of<'a, 'b>(
        &'a self,
        way: &'b str,
        boot: &'b Boot,
    ) -> impl Iterator<Item = &'a Run> + use<'a, 'b> {
        let all = self.runs.iter();
        all.filter(move |run| run.way == way && run.boot == *boot)
    }

    /// A place for the next run of a configuration: a number that no file has.
    ///
    /// # Errors
    /// When the folder is full.
    pub fn next(&self, way: &str) -> Result<(u32, PathBuf, Target), Error> {
        let path = |number: u32| self.folder.join(format!("{way}-{number}.json"));
        let number = (1..)
            .find(|number| !path(*number).exists())
            .unwrap_or(u32::MAX);
        let target = Target::open(&path(number))?;
        Ok((number, path(number), target))
    }

    /// Writes a run whole.
    ///
    /// # Errors
    /// When the disk is full.
    pub fn add(
        &mut self,
        way: &str,
        (number, path, target): (u32, PathBuf, Target),
        document: Document,
    ) -> Result<&Run, Error> {
        target.write_document(&document)?;
        self.sync();
        let machine = document.machine.as_ref();
        self.runs.push(Run {
            way: way.to_owned(),
            number,
            path,
            boot: machine.map_or_else(
                || Boot {
                    kernel: String::new(),
                    preemption: String::new(),
                    arguments: Vec::new(),
                },
                Boot::of,
            ),
            document,
        });
        Ok(&self.runs[self.runs.len() - 1])
    }

    /// Keeps the folder's names over a power cut. Some file systems cannot, which loses no more
    /// than the last run.
    fn sync(&self) {
        if let Ok(folder) = File::open(&self.folder) {
            let _ = folder.sync_all();
        }
    }

    /// Notes that a configuration comes into force, until [`Kept::unmark`].
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn mark(&self, way: &str) -> Result<(), Error> {
        Target::open(&self.folder.join(MARK))?.write(format!("{way}\n").as_bytes())?;
        self.sync();
        Ok(())
    }

    pub fn unmark(&self) {
        // Next time it means that something may be left to take back, and nothing is.
        let _ = fs::remove_file(self.folder.join(MARK));
    }

    /// The configuration that was in force when artis was killed here.
    pub fn marked(&self) -> Option<String> {
        let text = fs::read_to_string(self.folder.join(MARK)).ok()?;
        Some(text.trim().to_owned())
    }
}

/// A hash that this machine alone makes again, with this salt.
fn identity(root: &Root, salt: &str) -> Option<String> {
    let mut files = IDENTITIES.into_iter();
    // What this user may not read is not known, and the next one would be another identity.
    let of = files.find_map(|file| root.read(file).transpose())?.ok()?;
    let hash = Sha256::digest(format!("{salt} {of}"));
    Some(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
