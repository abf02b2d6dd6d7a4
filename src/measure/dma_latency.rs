// SPDX-License-Identifier: GPL-2.0-only
//! Keeps CPUs out of deep idle states through `/dev/cpu_dma_latency`.
//!
//! The kernel honours the smallest latency that any program requests, as long as that program keeps
//! the file open. Source: `Documentation/power/pm_qos_interface.rst`.

use artis_machine::Root;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

/// The device.
pub const FILE: &str = "/dev/cpu_dma_latency";

/// The request failed, and idle states are unchanged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "could not open {}, so CPUs may go into deep idle states; {}", path.display(), advice(source)
    )]
    Open { path: PathBuf, source: io::Error },
    #[error("could not ask for an exit latency of {latency_us} us in {}", path.display())]
    Write {
        path: PathBuf,
        latency_us: i32,
        source: io::Error,
    },
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::PermissionDenied => "run artis with sudo",
        ErrorKind::NotFound => "the kernel lacks CONFIG_CPU_IDLE, or /dev is a container's own",
        _ => "see the reason",
    }
}

/// The request, which holds until this is dropped.
#[derive(Debug)]
pub struct DmaLatency {
    _file: File,
}

impl DmaLatency {
    /// Asks for idle states that are left within `latency_us` microseconds; 0 is polling only.
    ///
    /// # Errors
    /// When the device is absent, or closed to this user.
    pub fn hold(root: &Root, latency_us: i32) -> Result<Self, Error> {
        let path = root.path(FILE);
        let mut file = OpenOptions::new()
            .write(true)
            .open(&path)
            .map_err(|source| Error::Open {
                path: path.clone(),
                source,
            })?;
        file.write_all(&latency_us.to_ne_bytes())
            .map_err(|source| Error::Write {
                path,
                latency_us,
                source,
            })?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    #[test]
    fn the_wish_is_four_bytes() {
        let (_folder, root) = canned(&[("dev/cpu_dma_latency", "")]);
        let held = DmaLatency::hold(&root, 3).unwrap();
        let written = std::fs::read(root.path(FILE)).unwrap();
        assert_eq!(written, 3_i32.to_ne_bytes());
        drop(held);
    }

    #[test]
    fn a_machine_without_the_device_is_reported() {
        let (_folder, root) = canned(&[]);
        let error = DmaLatency::hold(&root, 0).unwrap_err();
        assert!(error.to_string().contains("cpu_dma_latency"), "{error}");
    }
}
