// SPDX-License-Identifier: GPL-2.0-only
//! A private apt: its own sources, lists and downloads in the lab's cache folder.
//!
//! apt does the hard part right: signatures of the suites against Debian's keyring, hashes of every
//! file, proxies, retries. The user's own apt names its mirror and gives its proxy settings; its
//! lists, sources and hooks are never changed or run. Needs no root.

use crate::Error;
use crate::host::cache::Cache;
use crate::host::tool;
use crate::kernel::Package;
use crate::progress::Progress;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Debian's keys, which sign every suite.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// apt, working in the cache folder only.
pub struct Apt {
    suites: &'static [&'static str],
    config: PathBuf,
    sources: PathBuf,
    cache: Cache,
}

impl Apt {
    /// An apt that knows `suites` only. Prepares the private folders; the caller holds the cache's
    /// lock.
    ///
    /// # Errors
    /// When Debian's keys are missing, or the cache cannot be written.
    pub fn new(cache: &Cache, suites: &'static [&'static str]) -> Result<Self, Error> {
        if !Path::new(KEYRING).exists() {
            return Err(Error::MissingTool {
                tool: KEYRING.to_owned(),
                package: "debian-archive-keyring",
            });
        }
        // apt creates these itself only below its usual folders.
        cache.folder("apt/state/lists/partial")?;
        cache.folder("apt/cache/archives/partial")?;
        let folder = cache.folder("apt")?.display().to_string();
        let root = plain(&folder)?;
        let status = cache.path("apt/status")?;
        cache.write_file(&status, b"")?;
        let config = cache.path("apt/apt.conf")?;
        cache.write_file(&config, configuration(root).as_bytes())?;
        Ok(Self {
            suites,
            config,
            sources: cache.path("apt/sources.list")?,
            cache: cache.clone(),
        })
    }

    /// Fetches and verifies the package lists of its suites from `mirror`.
    ///
    /// # Errors
    /// When they cannot be fetched.
    pub fn update(&self, mirror: &str, progress: &mut dyn Progress) -> Result<(), Error> {
        self.use_mirror(mirror)?;
        let mut apt = self.program("apt-get")?;
        apt.arg("update");
        run_with_progress(apt, "fetching package lists", progress)
    }

    /// The package list of each suite: the suite's name and the text.
    ///
    /// # Errors
    /// When apt cannot read them.
    pub fn package_lists(&self) -> Result<Vec<(String, String)>, Error> {
        let mut apt = self.program("apt-get")?;
        apt.args(["indextargets", "--format", "$(CODENAME)|$(FILENAME)"]);
        let listed = String::from_utf8_lossy(&tool::output(&mut apt)?).into_owned();
        let mut lists = Vec::new();
        for (suite, file) in listed.lines().filter_map(|line| line.split_once('|')) {
            // apt chooses how to compress its lists; its helper reads all of them.
            let mut helper = Command::new("/usr/lib/apt/apt-helper");
            helper.args(["cat-file", file]);
            let text = String::from_utf8_lossy(&tool::output(&mut helper)?).into_owned();
            lists.push((suite.to_owned(), text));
        }
        Ok(lists)
    }

    /// Downloads `packages` into `folder`, verified against the lists of `mirror`; the progress
    /// line calls them `what`.
    ///
    /// # Errors
    /// When they cannot be fetched.
    pub fn download(
        &self,
        mirror: &str,
        what: &str,
        packages: &[Package],
        folder: &Path,
        progress: &mut dyn Progress,
    ) -> Result<(), Error> {
        self.use_mirror(mirror)?;
        let mut apt = self.program("apt-get")?;
        let exact = |package: &Package| format!("{}={}", package.name, package.version);
        apt.arg("download").args(packages.iter().map(exact));
        apt.current_dir(folder);
        let bytes: u64 = packages.iter().map(|package| package.size_bytes).sum();
        let what = format!("fetching {what} ({} MiB)", bytes.div_ceil(1 << 20));
        run_with_progress(apt, &what, progress)
    }

    /// Downloads `packages` and all that they depend on into `folder`, from the first suite where
    /// it has them, verified against the lists of `mirror`, which are fetched first.
    ///
    /// # Errors
    /// When they cannot be fetched.
    pub fn download_closure(
        &self,
        mirror: &str,
        packages: &[&str],
        folder: &Path,
        progress: &mut dyn Progress,
    ) -> Result<(), Error> {
        self.update(mirror, progress)?;
        // apt creates only the last part of this path itself.
        let partial = folder.join("partial");
        std::fs::create_dir_all(&partial).map_err(Error::io("create", &partial))?;
        let archives = plain(&folder.display().to_string())?.to_owned();
        let mut apt = self.program("apt-get")?;
        apt.args(["install", "--download-only", "--no-install-recommends"]);
        apt.arg("-o")
            .arg(format!("Dir::Cache::archives={archives}"));
        apt.args(["--target-release", self.suites[0]]);
        apt.args(packages);
        let what = format!("fetching {} and its libraries", packages[0]);
        run_with_progress(apt, &what, progress)
    }

    fn use_mirror(&self, mirror: &str) -> Result<(), Error> {
        let text = sources(mirror, self.suites)?;
        self.cache.write_file(&self.sources, text.as_bytes())
    }

    fn program(&self, name: &str) -> Result<Command, Error> {
        let mut command = Command::new(tool::find(name, "apt")?);
        // Machine-readable progress on standard output, nothing else there.
        command.arg("-c").arg(&self.config).args(["-qq", "-o"]);
        command.arg("APT::Status-Fd=1").env("LC_ALL", "C.UTF-8");
        Ok(command)
    }
}

/// The Debian mirror that the user's own apt is configured with.
///
/// # Errors
/// [`Error::NoMirror`].
pub fn users_mirror() -> Result<String, Error> {
    let mut apt = Command::new(tool::find("apt-get", "apt")?);
    apt.args([
        "indextargets",
        "--format",
        "$(REPO_URI)|$(ORIGIN)|$(LABEL)|$(COMPONENT)",
        "Created-By: Packages",
    ]);
    mirror_among(&String::from_utf8_lossy(&tool::output(&mut apt)?)).ok_or(Error::NoMirror)
}

/// The first main archive of Debian. The security archive has the same origin, but another label.
fn mirror_among(targets: &str) -> Option<String> {
    targets.lines().find_map(|line| {
        let mirror = line.strip_suffix("|Debian|Debian|main")?;
        Some(mirror.trim_end_matches('/').to_owned())
    })
}

/// The configuration that keeps apt inside `root`; read after the user's own, so it wins.
fn configuration(root: &str) -> String {
    format!(
        r#"// Written by artis lab for its private apt.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::Etc::sourcelist "{root}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "{root}/state";
Dir::State::status "{root}/status";
Dir::Cache "{root}/cache";
APT::Architecture "amd64";
// The folders belong to the user who runs this; the user _apt could not write there.
APT::Sandbox::User "root";
// A list that cannot be fetched is a failure, not a warning.
APT::Update::Error-Mode "any";
// A failed try with another mirror must not throw away this one's lists.
APT::Get::List-Cleanup "false";
// An unreachable mirror is noticed within seconds: a cached kernel may do.
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
"#
    )
}

/// One line for each suite, for package lists only: no translations, no software catalogues.
fn sources(mirror: &str, suites: &[&str]) -> Result<String, Error> {
    let mirror = plain(mirror)?;
    let line = |suite: &&str| {
        format!(
            "deb [arch=amd64 target=Packages lang=none signed-by={KEYRING}] {mirror} {suite} main\n"
        )
    };
    Ok(suites.iter().map(line).collect())
}

/// `text` itself, when no letter of it is special in apt's files.
fn plain(text: &str) -> Result<&str, Error> {
    let special = |letter: char| letter.is_whitespace() || letter == '"' || letter.is_control();
    if text.is_empty() || text.contains(special) {
        Err(Error::NotForApt(text.to_owned()))
    } else {
        Ok(text)
    }
}

/// Runs apt and passes its progress on.
fn run_with_progress(
    mut apt: Command,
    what: &str,
    progress: &mut dyn Progress,
) -> Result<(), Error> {
    let program = tool::describe(&apt);
    let failed = |reason: String| Error::Program {
        program: program.clone(),
        reason,
    };
    // An apt that outlives this process would keep the lock of its lists from the next run.
    tool::ends_with_us(&mut apt);
    let mut child = apt
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    progress.step(what, Some(0.0));
    for line in child
        .stdout
        .take()
        .into_iter()
        .flat_map(|out| BufReader::new(out).lines())
    {
        // An unreadable line only costs one update of the progress.
        if let Some((percent, remaining)) = line.ok().as_deref().and_then(status) {
            progress.step(&format!("{what}{remaining}"), Some(percent));
        }
    }
    // apt's errors fit a pipe's buffer by far, so reading them last cannot dead-lock.
    let mut said = String::new();
    if let Some(mut errors) = child.stderr.take() {
        errors
            .read_to_string(&mut said)
            .map_err(|error| failed(error.to_string()))?;
    }
    let ended = child.wait().map_err(|error| failed(error.to_string()))?;
    progress.done();
    if ended.success() {
        Ok(())
    } else {
        let words: Vec<&str> = said.lines().map(str::trim).collect();
        Err(failed(words.join(" ")))
    }
}

/// Percent and ", 3s remaining" of a line `dlstatus:2:15.6:Retrieving file 2 of 2 (3s remaining)`.
fn status(line: &str) -> Option<(f32, String)> {
    let mut fields = line.strip_prefix("dlstatus:")?.splitn(3, ':');
    let percent = fields.nth(1)?.parse().ok()?;
    let message = fields.next()?;
    let remaining = message
        .rsplit_once(" (")
        .and_then(|(_, words)| words.strip_suffix(')'))
        .map_or_else(String::new, |words| format!(", {words}"));
    Some((percent, remaining))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_debians_main_archive() {
        let targets = "https://deb.example/node/||. nodistro|main\n\
            http://security.example/debian-security/|Debian|Debian-Security|main\n\
            http://mirror.example/debian/|Debian|Debian|contrib\n\
            http://mirror.example/debian/|Debian|Debian|main\n";
        assert_eq!(
            mirror_among(targets).as_deref(),
            Some("http://mirror.example/debian")
        );
        assert_eq!(
            mirror_among("http://archive.example/ubuntu/|Ubuntu|Ubuntu|main\n"),
            None
        );
    }

    #[test]
    fn an_address_cannot_add_words_to_apts_files() {
        assert!(sources("http://mirror.example/debian", &["sid"]).is_ok());
        for bad in ["", "http://a b", "http://a\ndeb http://evil", "http://\"a"] {
            assert!(
                matches!(sources(bad, &["sid"]), Err(Error::NotForApt(_))),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn every_suite_is_signed_by_debian() {
        let text = sources("http://mirror.example/debian", &["trixie", "sid"]).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(text.lines().all(|line| line.contains(KEYRING)));
    }

    #[test]
    fn progress_lines_are_understood() {
        assert_eq!(
            status("dlstatus:2:15.5:Retrieving file 2 of 2 (3s remaining)"),
            Some((15.5, ", 3s remaining".to_owned()))
        );
        assert_eq!(
            status("dlstatus:1:0.0000:Retrieving file 1 of 2"),
            Some((0.0, String::new()))
        );
        assert_eq!(status("pmstatus:x:1:y"), None);
        assert_eq!(status("dlstatus:1"), None);
    }
}
