// SPDX-License-Identifier: GPL-2.0-only
//! Writes the man pages and the completions of bash, zsh and fish, from the same definitions as
//! `--help`, and the bill of materials: `artis-pages FOLDER` makes what belongs below
//! `PREFIX/share`.

mod sbom;

use anyhow::Context;
use artis::cli::shell_completion::Shell;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// The shells: folder below `share`, and the file in it as the shell looks for it.
const COMPLETIONS: [(Shell, &str, &str); 3] = [
    (Shell::Bash, "bash-completion/completions", "artis"),
    (Shell::Zsh, "zsh/site-functions", "_artis"),
    (Shell::Fish, "fish/vendor_completions.d", "artis.fish"),
];

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let (Some(folder), None) = (words.next(), words.next()) else {
        eprintln!("artis-pages: give one folder, such as target/share");
        return ExitCode::from(64);
    };
    match write(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("artis-pages: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn write(share: &Path) -> anyhow::Result<()> {
    // `artis help` is no command of its own with a page of its own.
    let command = artis::cli::command().disable_help_subcommand(true);
    let man = folder(share, "man/man1")?;
    clap_mangen::generate_to(command, &man)
        .with_context(|| format!("cannot write man pages into {}", man.display()))?;
    for (shell, place, name) in COMPLETIONS {
        let path = folder(share, place)?.join(name);
        fs::write(&path, shell.script())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let path = folder(share, "artis")?.join("sbom.cdx.json");
    let mut text = serde_json::to_string_pretty(&sbom::document()?)?;
    text.push('\n');
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn folder(share: &Path, name: &str) -> anyhow::Result<std::path::PathBuf> {
    let folder = share.join(name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Every command below this one, by the words that call it.
    fn commands(command: &clap::Command, words: &str) -> Vec<(String, clap::Command)> {
        let mut all = vec![(words.to_owned(), command.clone())];
        for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            all.extend(commands(below, &format!("{words} {}", below.get_name())));
        }
        all
    }

    fn all() -> Vec<(String, clap::Command)> {
        let mut root = artis::cli::command().disable_help_subcommand(true);
        root.build();
        let all = commands(&root, "artis");
        assert!(all.len() > 25, "{}", all.len());
        all
    }

    /// The names of its options; hidden ones only answer.
    fn options(command: &clap::Command) -> impl Iterator<Item = &str> {
        let shown = command.get_arguments().filter(|one| !one.is_hide_set());
        shown.filter_map(clap::Arg::get_long)
    }

    /// What a terminal shows of a page's source: without escapes.
    fn plain(page: &str) -> String {
        page.replace("\\-", "-")
            .replace("\\fB", "")
            .replace("\\fI", "")
            .replace("\\fR", "")
    }

    #[test]
    fn every_command_has_a_page_with_its_options_and_its_example() {
        let share = tempfile::tempdir().unwrap();
        write(share.path()).unwrap();
        for (words, command) in all() {
            let name = words.replace(' ', "-");
            let path = share.path().join(format!("man/man1/{name}.1"));
            let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
            let page = plain(&page);
            for option in options(&command) {
                assert!(page.contains(&format!("--{option}")), "{name}: --{option}");
            }
            assert!(page.contains("Example"), "{name}: no example");
        }
    }

    #[test]
    fn every_shell_knows_every_command_and_option() {
        let share = tempfile::tempdir().unwrap();
        write(share.path()).unwrap();
        for (shell, place, name) in COMPLETIONS {
            let text = fs::read_to_string(share.path().join(place).join(name)).unwrap();
            for (words, command) in all() {
                assert!(text.contains(command.get_name()), "{shell:?}: {words}");
                for option in options(&command) {
                    assert!(text.contains(option), "{shell:?}: {words} --{option}");
                }
            }
        }
    }

    /// What each shell is asked, about the file at $1 in the folder $2, and what it must answer.
    const QUESTIONS: [(Shell, &str, &str, &str); 3] = [
        (
            Shell::Bash,
            "bash",
            ". \"$1\"; COMP_WORDS=(artis la); COMP_CWORD=1; _artis artis la artis; echo ${COMPREPLY[@]}",
            "lab",
        ),
        (
            Shell::Zsh,
            "zsh",
            "fpath=($2 $fpath); autoload -Uz compinit; compinit -u -D; autoload +X _artis; echo $_comps[artis]",
            "_artis",
        ),
        (
            Shell::Fish,
            "fish",
            "source $argv[2]; complete -C 'artis lab exp'",
            "experiment\t",
        ),
    ];

    #[test]
    fn shells_load_their_completions() {
        let share = tempfile::tempdir().unwrap();
        write(share.path()).unwrap();
        for (which, shell, question, answer) in QUESTIONS {
            let (_, place, name) = COMPLETIONS
                .into_iter()
                .find(|(one, ..)| *one == which)
                .unwrap();
            let folder = share.path().join(place);
            let mut command = std::process::Command::new(shell);
            command
                .env("HOME", share.path())
                .args(["-c", question, shell]);
            let output = match command.arg(folder.join(name)).arg(&folder).output() {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    // The line that `make test` counts.
                    let reason = format!("{shell} is missing; apt-get install {shell}");
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "\nSKIPPED: shells_load_their_completions: {reason}").unwrap();
                    continue;
                }
                other => other.unwrap(),
            };
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.starts_with(answer), "{shell}: {output:?}");
        }
    }
}
