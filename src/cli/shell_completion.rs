// SPDX-License-Identifier: GPL-2.0-only
//! `artis completion`: completions of a shell, from the definitions that `--help` is made of.

use super::output::stdout;
use std::io::Write;
use std::process::ExitCode;

/// Print completions for a shell
#[derive(clap::Args)]
#[command(
    after_help = "Packages of artis have them already. Where they go by hand:\n  \
                  bash: artis completion bash > \\\n    \
                  ~/.local/share/bash-completion/completions/artis\n  \
                  zsh: a file _artis in a folder of $fpath\n  \
                  fish: ~/.config/fish/completions/artis.fish\n\n\
                  Example:\n  source <(artis completion bash)"
)]
pub struct Args {
    /// bash, zsh or fish
    #[arg(value_enum, value_name = "SHELL", hide_possible_values = true)]
    shell: Shell,
}

/// The shells that there are completions for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    /// What the shell reads.
    pub fn script(self) -> Vec<u8> {
        use clap_complete::Shell as Generator;
        let generator = match self {
            Self::Bash => Generator::Bash,
            Self::Zsh => Generator::Zsh,
            Self::Fish => Generator::Fish,
        };
        // `artis help` is no command that anybody needs to complete.
        let mut command = super::command().disable_help_subcommand(true);
        let mut text = Vec::new();
        clap_complete::generate(generator, &mut command, "artis", &mut text);
        text
    }
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    stdout().write_all(&args.shell.script())?;
    Ok(ExitCode::SUCCESS)
}
