// SPDX-License-Identifier: GPL-2.0-only
//! The options that all measuring commands have.

use crate::cli::value;
use crate::decide::compare::Gate;
use crate::decide::compare::gate::Bound;
use crate::load::preset::Presets;
use crate::machine::CpuList;
use artis_run::{session, voice};
use std::path::PathBuf;

#[derive(clap::Args, Default)]
pub struct Common {
    /// Write the result file (artis.result/1) to FILE; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Loads to run meanwhile; `artis load list` says which there are
    #[arg(long, value_name = "NAME,…")]
    pub load: Option<Presets>,
    /// CPUs that the loads run on [default: all]
    #[arg(long, value_name = "LIST", requires = "load", value_parser = value::cpus::list)]
    pub load_cpus: Option<CpuList>,
    /// Also print a line for each figure, as LAVA and KernelCI read them
    #[arg(long)]
    pub lava: bool,
    /// With --lava: a bound that decides what passes, as artis compare has it
    #[arg(long = "gate", value_name = "GATE", requires = "lava", value_parser = gate)]
    pub gates: Vec<Gate>,
    #[command(flatten)]
    pub voice: Voice,
}

/// A gate on what is measured: there is nothing that it could be compared with.
fn gate(text: &str) -> Result<Gate, String> {
    let gate: Gate = text.parse().map_err(|error| format!("{error}"))?;
    match (&gate.configuration, &gate.bound) {
        (None, Bound::Number(_)) => Ok(gate),
        _ => Err(
            "one measurement has no other configurations; write FIGURE, an operator and a number, \
             as in latency.max<=100"
                .to_owned(),
        ),
    }
}

/// How much is said.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Voice {
    /// Print results and errors only
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Say of each warning what it does to the figures and what to type
    #[arg(long)]
    verbose: bool,
}

impl From<&Common> for session::Common {
    fn from(common: &Common) -> Self {
        Self {
            json: common.json.clone(),
            load: common.load.clone(),
            load_cpus: common.load_cpus.clone(),
            lava: common.lava.then(|| common.gates.clone()),
            voice: common.voice.into(),
        }
    }
}

impl From<Voice> for voice::Voice {
    fn from(Voice { quiet, verbose }: Voice) -> Self {
        Self { quiet, verbose }
    }
}
