// SPDX-License-Identifier: GPL-2.0-only
//! The options that all measuring commands have.

use crate::cli::value;
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
    #[command(flatten)]
    pub voice: Voice,
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
            voice: common.voice.into(),
        }
    }
}

impl From<Voice> for voice::Voice {
    fn from(Voice { quiet, verbose }: Voice) -> Self {
        Self { quiet, verbose }
    }
}
