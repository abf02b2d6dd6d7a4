// SPDX-License-Identifier: GPL-2.0-only
//! `artis lab`: list and fetch stock kernels, boot one and run a command in it.

use super::exit::UsageError;
use super::output::{print_json, raw_stdout, stdout};
use super::progress::Stderr;
use super::signals::stop_on_signals;
use super::value;
use super::{lab_experiment, lab_explain, lab_scenario};
use crate::lab::debian::kernel::Kernels;
use crate::lab::distribution::Distro;
use crate::lab::engine::Kind;
use crate::lab::engine::devices::{self, Devices, Network};
use crate::lab::engine::topology::Topology;
use crate::lab::host::cache::Cache;
use crate::lab::host::scratch::{self, Scratch};
use crate::lab::image::Image;
use crate::lab::image::file::GuestFile;
use crate::lab::image::programs::{Own, Programs};
use crate::lab::kernel::Kernel;
use crate::lab::kernel::modules::{self, Module};
use crate::lab::kernel::own;
use crate::lab::machine::Machine;
use crate::lab::machine::output::RESERVED;
use crate::lab::machine::record::Ended;
use crate::lab::progress::Progress;
use crate::report::kernels::{Kernel as Line, table};
use crate::result::claims::is_one_file;
use crate::result::file;
use std::ffi::OsString;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Exit status after a time-out, as of coreutils' timeout.
const TIMED_OUT: u8 = 124;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis lab run --kernel newest -- uname -a")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    /// Debian mirror to take kernels from, instead of apt's
    #[arg(long, global = true, value_name = "URL")]
    mirror: Option<String>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the kernels that Debian's suites offer and that are cached
    #[command(after_help = "Example:\n  artis lab kernels")]
    Kernels {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Download kernels into the user's cache
    #[command(after_help = "Example:\n  artis lab fetch newest newest-rt")]
    Fetch {
        /// Kernel release, series (6.18, 6.18-rt), package name, newest or newest-rt
        #[arg(default_value = "newest", value_name = "NAME")]
        names: Vec<String>,
    },
    /// Boot a kernel in a virtual machine and run a command there
    Run(Run),
    Experiment(lab_experiment::Args),
    Explain(lab_explain::Args),
    Scenario(lab_scenario::Args),
}

#[derive(clap::Args)]
#[command(
    after_help = "The command runs in the guest's folder $ARTIS_OUTPUT; the files that it writes\n\
                  there come back with --output. Exit status: the command's own, 128 + signal when\n\
                  it was killed, 124 after a time-out.\n\n\
                  Example:\n  artis lab run --kernel newest-rt --cpus 4 -- cyclictest -q -D 5"
)]
pub(super) struct Run {
    /// What runs the guest; bochs is slow and its virtual time repeats exactly
    #[arg(long, value_enum, default_value_t = Kind::Qemu)]
    pub(super) engine: Kind,
    /// Another sample: loads start in another order and at other moments
    #[arg(long, value_name = "N", value_parser = value::number::whole(0..=u64::MAX))]
    pub(super) seed: Option<u64>,
    /// Release, series (6.18, 6.18-rt), package, newest, newest-rt, or an image's path
    #[arg(long, value_name = "NAME", default_value = "newest")]
    pub(super) kernel: String,
    /// Where the modules of such an image are: /lib/modules/RELEASE
    #[arg(long, value_name = "DIR")]
    pub(super) module_folder: Option<PathBuf>,
    /// Virtual CPUs
    #[arg(long, default_value_t = 2, value_parser = value::number::whole(1..=64_u32))]
    pub(super) cpus: u32,
    /// Instead of --cpus, how they are arranged (qemu only); each socket has a cache and a node
    #[arg(
        long,
        value_name = "sockets=N,cores=N,threads=N",
        conflicts_with = "cpus"
    )]
    pub(super) topology: Option<Topology>,
    /// Memory of the guest in MiB (bochs: 2048 at most)
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = value::number::whole(256..=u32::MAX))]
    pub(super) memory: u32,
    /// A disk of this size, empty at each start, as /dev/vda (qemu only): 64M, 2G
    #[arg(long, value_name = "SIZE", value_parser = devices::disk_size)]
    pub(super) disk: Option<u64>,
    /// A network card (qemu only)
    #[arg(long, value_name = "KIND", value_enum)]
    pub(super) network: Option<Network>,
    #[command(flatten)]
    pub(super) append: Append,
    /// End the command after so many seconds (bochs: of virtual time); 0 is never
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    #[arg(value_parser = value::duration::seconds(0..=u64::from(u32::MAX)))]
    pub(super) timeout: u64,
    /// Folder for the files the command writes, console.log and run.json
    #[arg(long, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
    /// Load a kernel module, and those it needs, before the command; repeatable
    #[arg(long = "module", value_name = "NAME")]
    pub(super) modules: Vec<String>,
    /// Put a file into the guest, by default into /files (in PATH); repeatable
    #[arg(long = "file", value_name = "HOSTPATH[:GUESTPATH]")]
    pub(super) files: Vec<OsString>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(super) command: Vec<OsString>,
}

/// What is appended to the kernel's command line.
#[derive(clap::Args)]
pub(super) struct Append {
    /// More kernel arguments
    #[arg(
        long,
        value_name = "ARGS",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    append: String,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    scratch::remove_leftovers();
    let kernels = Kernels::new(Cache::per_user()?, args.mirror);
    match args.command {
        Command::Kernels { json } => list(&kernels, json),
        Command::Fetch { names } => fetch(&kernels, &names),
        Command::Run(args) => run_command(&kernels, args),
        Command::Experiment(args) => lab_experiment::run(&kernels, args),
        Command::Explain(args) => lab_explain::run(&kernels, args),
        Command::Scenario(args) => lab_scenario::run(&kernels, args),
    }
}

fn list(kernels: &dyn Distro, json: bool) -> anyhow::Result<ExitCode> {
    let listed = kernels.list(&mut Stderr::default())?;
    let mut out = stdout();
    if json {
        print_json(&mut out, &listed)?;
        return Ok(ExitCode::SUCCESS);
    }
    out.text(&table(listed.iter().map(|kernel| Line {
        release: &kernel.release,
        flavour: kernel.flavour.to_string(),
        suite: &kernel.suite,
        version: &kernel.version,
        sched_ext: kernel.sched_ext,
        is_cached: kernel.cached,
        newest: kernel.newest.then(|| kernel.flavour.newest_name()),
    })))?;
    if listed.iter().any(|kernel| kernel.sched_ext.is_none()) {
        say!("artis: SCHED_EXT \"?\": unknown until fetched (artis lab fetch RELEASE)");
    }
    Ok(ExitCode::SUCCESS)
}

fn fetch(kernels: &dyn Distro, names: &[String]) -> anyhow::Result<ExitCode> {
    for name in names {
        let kernel = resolve(kernels, name, &mut Stderr::default())?;
        let facts = kernel.facts;
        writeln!(stdout(), "{} {}", facts.release, facts.version)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The kernel called `name`; an unknown name is wrong usage.
pub(super) fn resolve(
    kernels: &dyn Distro,
    name: &str,
    progress: &mut Stderr,
) -> anyhow::Result<Kernel> {
    match kernels.resolve(name, progress) {
        Err(error @ crate::lab::Error::UnknownKernel { .. }) => {
            Err(UsageError(error.to_string()).into())
        }
        other => Ok(other?),
    }
}

/// The modules called `names`, in loading order; an unknown name is wrong usage.
fn resolve_modules(
    kernels: &dyn Distro,
    kernel: &Kernel,
    names: &[String],
    progress: &mut Stderr,
) -> anyhow::Result<Vec<Module>> {
    match modules::resolve(kernels, kernel, names, progress) {
        Err(error @ crate::lab::Error::UnknownModule { .. }) => {
            Err(UsageError(error.to_string()).into())
        }
        other => Ok(other?),
    }
}

pub(super) fn run_command(kernels: &dyn Distro, args: Run) -> anyhow::Result<ExitCode> {
    let files = args.files.iter().map(|words| GuestFile::parse(words));
    let files = files
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| UsageError(error.to_string()))?;
    for file in &files {
        refuse_file(file, args.memory, args.output.as_deref())?;
    }
    let devices = Devices {
        disk_bytes: args.disk,
        network: args.network,
    };
    let engine = args.engine.engine();
    let cpus = args.topology.map_or(args.cpus, Topology::cpus);
    engine
        .check(cpus, args.memory, args.topology, devices)
        .map_err(|error| {
            UsageError(match error {
                crate::lab::Error::TooManyCpus { .. } => format!("{error}; give fewer (--cpus N)"),
                crate::lab::Error::TooMuchMemory { .. } => {
                    format!("{error}; give less (--memory MIB)")
                }
                other => other.to_string(),
            })
        })?;
    let mut progress = Stderr::default();
    let kernel = kernel_or_image(kernels, &args, &mut progress)?;
    let drivers = devices.modules().map(str::to_owned);
    let names: Vec<String> = drivers.chain(args.modules).collect();
    let modules = resolve_modules(kernels, &kernel, &names, &mut progress)?;

    // Without --output only the exit status and the streams are wanted.
    let passing = Scratch::new()?;
    let output = args.output.clone();
    let output = output.unwrap_or_else(|| passing.path().to_owned());
    let system = system(Programs::All)?;
    let mut machine = Machine::new(engine, kernels.cache(), kernel, system, output);
    machine.seed = args.seed;
    machine.cpus = cpus;
    machine.topology = args.topology;
    machine.memory_mib = args.memory;
    machine.append = args.append.append;
    machine.timeout = (args.timeout > 0).then(|| Duration::from_secs(args.timeout));
    machine.files = files;
    machine.modules = modules;
    machine.devices = devices;
    machine.stop = stop_on_signals()?;

    let facts = &machine.kernel.facts;
    progress.note(&format!(
        "{} {} in {}, {} CPUs; {}",
        facts.package,
        facts.version,
        machine.engine.name(),
        machine.cpus,
        machine.engine.timing()
    ));
    let ran = machine.run(
        &args.command,
        &mut raw_stdout(),
        &mut stderr(),
        &mut progress,
    );
    // The console is the only trace of what went wrong.
    let outcome = ran.map_err(|error| passing.keep_console(error))?;
    for refused in &outcome.unpacked.refused {
        progress.note(&format!("not brought back: {refused}"));
    }
    if !outcome.files_whole {
        progress.note("the guest did not send its files to the end; some may be missing");
    }
    if args.output.is_none() && !outcome.unpacked.files.is_empty() {
        progress.note("the command wrote files; --output DIR would have kept them");
    }
    Ok(exit_code(outcome.ended, args.timeout, &mut progress))
}

/// The kernel of that name, or the image at that path.
fn kernel_or_image(
    kernels: &dyn Distro,
    args: &Run,
    progress: &mut Stderr,
) -> anyhow::Result<Kernel> {
    let modules_of_image = args.module_folder.as_deref();
    if own::is_path(&args.kernel) {
        let image = Path::new(&args.kernel);
        file::regular(image)?;
        return Ok(own::kernel(kernels, image, modules_of_image)?);
    }
    if modules_of_image.is_some() {
        let words = "--module-folder is for a kernel image, --kernel PATH";
        return Err(UsageError(words.to_owned()).into());
    }
    resolve(kernels, &args.kernel, progress)
}

fn exit_code(ended: Ended, timeout_s: u64, progress: &mut Stderr) -> ExitCode {
    match ended {
        Ended::Exit(status) => ExitCode::from(status),
        Ended::TimedOut => {
            progress.note(&format!(
                "the command ran longer than {timeout_s} s and was ended (--timeout SECONDS)"
            ));
            ExitCode::from(TIMED_OUT)
        }
        Ended::Interrupted(signal) => {
            progress.note("interrupted; the virtual machine was ended");
            ended_by(signal)
        }
    }
}

/// Refuses a file that does not fit into the guest, or that the lab's own files would replace.
fn refuse_file(file: &GuestFile, memory_mib: u32, output: Option<&Path>) -> anyhow::Result<()> {
    let host = file.host.display();
    if file::regular(&file.host)? > u64::from(memory_mib) << 20 {
        return Err(UsageError(format!(
            "--file {host} is larger than the guest's memory; give the guest more (--memory MIB)"
        ))
        .into());
    }
    let written = RESERVED.iter().filter_map(|name| Some(output?.join(name)));
    match written
        .into_iter()
        .find(|path| is_one_file(path, &file.host))
    {
        None => Ok(()),
        Some(_) => Err(UsageError(format!(
            "--output would overwrite {host}, which the guest gets; name another folder"
        ))
        .into()),
    }
}

/// The exit status of a command that a signal ended, as shells have it.
pub(super) fn ended_by(signal: i32) -> ExitCode {
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}

/// The guest's file system with this artis and `programs`.
pub(super) fn system(programs: Programs) -> anyhow::Result<Arc<Image>> {
    Ok(Arc::new(Image::new(&Own::installed()?, programs)?))
}
