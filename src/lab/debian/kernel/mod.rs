// SPDX-License-Identifier: GPL-2.0-only
//! Stock kernels: which one a name means, fetching it, and what is known about it.
//!
//! Owns the cache's `kernels` folder: one folder for each kernel, named by release and package
//! version, with `vmlinuz`, its `config` where Debian still has it, and `kernel.json`.

use super::apt::{self, Apt};
use super::index::{self, Index, Offer};
use super::package;
use super::version;
use crate::Error;
use crate::distribution::Distro;
use crate::host::cache::{Cache, Lock};
use crate::kernel::{Facts, Flavour, Kernel, Listed, Modules, Package, modules};
use crate::progress::Progress;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The suites that hold kernels with sched_ext.
pub(super) const SUITES: &[&str] = &["trixie-backports", "sid"];

/// Package lists older than this are fetched again.
const INDEX_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Which kernel is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Request {
    Newest(Flavour),
    /// The newest of those that begin with this, such as "6.18.".
    Series(String, Flavour),
    Release(String),
}

impl Request {
    fn of(name: &str) -> Self {
        match name {
            "newest" | "linux-image-amd64" => Request::Newest(Flavour::Normal),
            "newest-rt" | "linux-image-rt-amd64" => Request::Newest(Flavour::Rt),
            _ => {
                if let Some(series) = Self::series(name) {
                    return series;
                }
                let release = ["linux-image-", "linux-binary-"]
                    .iter()
                    .find_map(|prefix| name.strip_prefix(prefix));
                Request::Release(release.unwrap_or(name).to_owned())
            }
        }
    }

    /// "6.18" and "6.18-rt".
    fn series(name: &str) -> Option<Self> {
        let (series, flavour) = match name.strip_suffix("-rt") {
            Some(series) => (series, Flavour::Rt),
            None => (name, Flavour::Normal),
        };
        let (major, minor) = series.split_once('.')?;
        let is_number = |text: &str| text.parse::<u32>().is_ok();
        (is_number(major) && is_number(minor)).then(|| Self::Series(format!("{series}."), flavour))
    }

    fn means(&self, release: &str, flavour: Flavour) -> bool {
        match self {
            Request::Newest(wanted) => *wanted == flavour,
            Request::Series(start, wanted) => *wanted == flavour && release.starts_with(start),
            Request::Release(wanted) => wanted == release,
        }
    }
}

/// The kernels that exist: in the suites and in the cache.
pub struct Kernels {
    cache: Cache,
    mirror: Option<String>,
}

impl Kernels {
    /// Kernels kept in `cache`, from `mirror` or else from the one the user's apt has.
    pub fn new(cache: Cache, mirror: Option<String>) -> Self {
        Self { cache, mirror }
    }

    /// Does `error` say that the mirror cannot be used, and may the cache take its place? Not the
    /// place of a mirror that the user named: then the answer would be another one than asked for.
    fn is_mirror_missing(&self, error: &Error) -> bool {
        self.mirror.is_none() && matches!(error, Error::Program { .. } | Error::NoMirror)
    }

    fn resolve_online(
        &self,
        name: &str,
        request: &Request,
        progress: &mut dyn Progress,
    ) -> Result<Kernel, Error> {
        let index = self.index(INDEX_AGE_MAX, progress)?;
        match self.take(name, request, &index, progress) {
            // Debian may have replaced the package since the lists were fetched: fetch them again,
            // once.
            Err(Error::Program { .. }) => {
                let index = self.index(Duration::ZERO, progress)?;
                self.take(name, request, &index, progress)
            }
            other => other,
        }
    }

    /// The kernel that `index` has for the request, or else a cached kernel.
    fn take(
        &self,
        name: &str,
        request: &Request,
        index: &Index,
        progress: &mut dyn Progress,
    ) -> Result<Kernel, Error> {
        let fitting = |offer: &&Offer| request.means(&offer.release, offer.flavour);
        if let Some(offer) = index.offers.iter().rfind(fitting) {
            return self.fetch(offer, &index.mirror, progress);
        }
        self.newest_cached(request)?
            .ok_or_else(|| Error::UnknownKernel {
                name: name.to_owned(),
                known: index
                    .offers
                    .iter()
                    .rev()
                    .map(|offer| offer.release.clone())
                    .collect(),
            })
    }

    fn newest_cached(&self, request: &Request) -> Result<Option<Kernel>, Error> {
        let fitting = |kernel: &Kernel| request.means(&kernel.facts.release, kernel.facts.flavour);
        Ok(self.cached()?.into_iter().rfind(fitting))
    }

    /// The cached kernels, oldest version first.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub fn cached(&self) -> Result<Vec<Kernel>, Error> {
        let folder = self.cache.folder("kernels")?;
        let mut kernels = Vec::new();
        for entry in fs::read_dir(&folder).map_err(Error::io("read", &folder))? {
            let path = entry.map_err(Error::io("read", &folder))?.path();
            kernels.extend(read_cached(&path));
        }
        version::sort(&mut kernels, |kernel: &Kernel| &kernel.facts.version)?;
        Ok(kernels)
    }

    /// What the suites offer, fetched again when the last lists are older than `age_max`.
    fn index(&self, age_max: Duration, progress: &mut dyn Progress) -> Result<Index, Error> {
        let path = self.cache.path("index.json")?;
        if let Some(index) = self.fresh_index(&path, age_max) {
            return Ok(index);
        }
        let _lock = self.lock(progress)?;
        // Another run may have fetched them while this one waited.
        if let Some(index) = self.fresh_index(&path, age_max) {
            return Ok(index);
        }
        let mirror = self.mirror()?;
        let apt = Apt::new(&self.cache, SUITES)?;
        apt.update(&mirror, progress)?;
        let index = Index {
            refreshed_s: now_s(),
            mirror,
            offers: index::offers(&apt.package_lists()?)?,
        };
        let text =
            serde_json::to_vec(&index).map_err(|error| Error::io("write", &path)(error.into()))?;
        self.cache.write_file(&path, &text)?;
        Ok(index)
    }

    fn fresh_index(&self, path: &Path, age_max: Duration) -> Option<Index> {
        // Missing, damaged or written by another version of artis: it is made again.
        let index: Index = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let other_mirror = self
            .mirror
            .as_ref()
            .is_some_and(|mirror| mirror.trim_end_matches('/') != index.mirror);
        // A clock that was set back gives no age: then it is made again.
        let age_s = now_s().checked_sub(index.refreshed_s)?;
        (age_s < age_max.as_secs() && !other_mirror).then_some(index)
    }

    fn fetch(
        &self,
        offer: &Offer,
        mirror: &str,
        progress: &mut dyn Progress,
    ) -> Result<Kernel, Error> {
        let name = format!("{}_{}", offer.release, offer.version());
        let path = self.cache.path(&format!("kernels/{name}"))?;
        if let Some(kernel) = read_cached(&path) {
            return Ok(kernel);
        }
        let _lock = self.lock(progress)?;
        if let Some(kernel) = read_cached(&path) {
            return Ok(kernel);
        }
        let folder = self.cache.unfinished_folder(&path)?;
        package::download(&self.cache, offer, mirror, folder.path(), progress)?;
        let facts = package::facts(offer, mirror, folder.path())?;
        let json = folder.path().join("kernel.json");
        let text = serde_json::to_vec_pretty(&facts)
            .map_err(|error| Error::io("write", &json)(error.into()))?;
        fs::write(&json, text).map_err(Error::io("write", &json))?;
        // An older artis left it in a form that this one cannot read.
        if path.exists() {
            fs::remove_dir_all(&path).map_err(Error::io("replace", &path))?;
        }
        self.cache.finish_folder(folder, &path)?;
        Ok(Kernel {
            facts,
            vmlinuz: path.join("vmlinuz"),
            modules: Modules::Packages,
        })
    }

    /// The packages with the modules of a cached kernel, and their mirror; no package when the
    /// suites have dropped them.
    fn modules_of(
        &self,
        kernel: &Facts,
        progress: &mut dyn Progress,
    ) -> Result<(Vec<Package>, String), Error> {
        let index = self.index(INDEX_AGE_MAX, progress)?;
        let same =
            |offer: &Offer| offer.release == kernel.release && offer.version() == kernel.version;
        let offer = index.offers.into_iter().find(same);
        let packages = offer.map_or_else(Vec::new, |offer| offer.modules);
        Ok((packages, index.mirror))
    }

    fn lock(&self, progress: &mut dyn Progress) -> Result<Lock, Error> {
        self.cache
            .lock(|| progress.note("waiting for another artis that is fetching a kernel"))
    }
}

impl Distro for Kernels {
    fn cache(&self) -> &Cache {
        &self.cache
    }

    fn mirror(&self) -> Result<String, Error> {
        match &self.mirror {
            Some(mirror) if !mirror.contains("://") => Err(Error::NotAMirror(mirror.clone())),
            Some(mirror) => Ok(mirror.trim_end_matches('/').to_owned()),
            None => apt::users_mirror(),
        }
    }

    fn resolve(&self, name: &str, progress: &mut dyn Progress) -> Result<Kernel, Error> {
        let request = Request::of(name);
        let failed = match self.resolve_online(name, &request, progress) {
            Err(error) if self.is_mirror_missing(&error) => error,
            other => return other,
        };
        let Some(kernel) = self.newest_cached(&request)? else {
            return Err(failed);
        };
        progress.note(&format!(
            "{failed}; using the cached kernel {} {}",
            kernel.facts.release, kernel.facts.version
        ));
        Ok(kernel)
    }

    fn list(&self, progress: &mut dyn Progress) -> Result<Vec<Listed>, Error> {
        let cached = self.cached()?;
        let offers = match self.index(INDEX_AGE_MAX, progress) {
            Ok(index) => index.offers,
            Err(error) if !cached.is_empty() && self.is_mirror_missing(&error) => {
                progress.note(&format!("{error}; listing the cached kernels only"));
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        let mut listed: Vec<Listed> = offers
            .iter()
            .map(|offer| Listed::offered(offer, &cached))
            .collect();
        let is_offered = |kernel: &&Kernel| {
            !offers.iter().any(|offer| {
                offer.release == kernel.facts.release && offer.version() == kernel.facts.version
            })
        };
        listed.extend(cached.iter().filter(is_offered).map(Listed::only_cached));
        version::sort(&mut listed, |kernel| &kernel.version)?;
        listed.reverse();
        for flavour in [Flavour::Normal, Flavour::Rt] {
            if let Some(first) = listed.iter_mut().find(|kernel| kernel.flavour == flavour) {
                first.newest = true;
            }
        }
        Ok(listed)
    }

    fn modules(&self, kernel: &Facts, progress: &mut dyn Progress) -> Result<PathBuf, Error> {
        let cache = &self.cache;
        cache.folder("modules")?;
        let path = cache.path(&format!("modules/{}_{}", kernel.release, kernel.version))?;
        if path.exists() {
            return Ok(path);
        }
        let (packages, mirror) = self.modules_of(kernel, progress)?;
        if packages.is_empty() {
            return Err(Error::NoModules {
                release: kernel.release.clone(),
                version: kernel.version.clone(),
            });
        }
        let _lock = self.lock(progress)?;
        // Another run may have fetched them while this one waited.
        if path.exists() {
            return Ok(path);
        }
        let folder = cache.unfinished_folder(&path)?;
        let module = |path: &Path| {
            let name = path.file_name()?;
            modules::name(path).is_some().then(|| PathBuf::from(name))
        };
        let what = format!("the modules of {}", kernel.release);
        package::download_files(
            cache,
            &mirror,
            &what,
            &packages,
            folder.path(),
            &module,
            progress,
        )?;
        cache.finish_folder(folder, &path)?;
        Ok(path)
    }
}

impl Listed {
    fn offered(offer: &Offer, cached: &[Kernel]) -> Self {
        let kernel = cached.iter().find(|kernel| {
            kernel.facts.release == offer.release && kernel.facts.version == offer.version()
        });
        Self {
            release: offer.release.clone(),
            flavour: offer.flavour,
            version: offer.version().to_owned(),
            suite: offer.suite.clone(),
            newest: false,
            cached: kernel.is_some(),
            download_bytes: Some(offer.size_bytes()),
            sched_ext: kernel.and_then(|kernel| kernel.facts.sched_ext),
            preemption: kernel.and_then(|kernel| kernel.facts.preemption.clone()),
        }
    }

    fn only_cached(kernel: &Kernel) -> Self {
        let facts = kernel.facts.clone();
        Self {
            release: facts.release,
            flavour: facts.flavour,
            version: facts.version,
            suite: facts.suite,
            newest: false,
            cached: true,
            download_bytes: None,
            sched_ext: facts.sched_ext,
            preemption: facts.preemption,
        }
    }
}

/// The kernel in a folder of the cache; none when it is not there or damaged.
fn read_cached(folder: &Path) -> Option<Kernel> {
    let facts = serde_json::from_slice(&fs::read(folder.join("kernel.json")).ok()?).ok()?;
    let vmlinuz = folder.join("vmlinuz");
    vmlinuz.exists().then_some(Kernel {
        facts,
        vmlinuz,
        modules: Modules::Packages,
    })
}

fn now_s() -> u64 {
    // A clock before 1970 makes every index stale, which is harmless.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
pub(crate) mod tests;
