// SPDX-License-Identifier: GPL-2.0-only
//! How a guest's CPUs are arranged, when asked for: sockets, cores and hardware threads.
//!
//! Each socket has a last-level cache and a memory node of its own, as on most real machines.

use super::super::Error;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How a guest's CPUs are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Topology {
    pub sockets: u32,
    /// Of each socket.
    pub cores: u32,
    /// Of each core.
    pub threads: u32,
}

impl Topology {
    /// Virtual CPUs of such a guest.
    pub fn cpus(self) -> u32 {
        self.sockets * self.cores * self.threads
    }

    /// The first and the last CPU of a socket: sockets are numbered through.
    pub fn of_socket(self, socket: u32) -> (u32, u32) {
        let cpus = self.cores * self.threads;
        (socket * cpus, (socket + 1) * cpus - 1)
    }

    /// The error of an engine that gives its guests no topology, if one is asked for.
    ///
    /// # Errors
    /// [`Error::NoDevice`].
    pub fn refuse(asked: Option<Self>, engine: &'static str) -> Result<(), Error> {
        match asked {
            None => Ok(()),
            Some(_) => Err(Error::NoDevice {
                engine,
                device: "topology",
                option: "--topology",
            }),
        }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sockets,
            cores,
            threads,
        } = self;
        write!(text, "sockets={sockets},cores={cores},threads={threads}")
    }
}

impl From<Topology> for String {
    fn from(topology: Topology) -> Self {
        topology.to_string()
    }
}

impl TryFrom<String> for Topology {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Topology {
    type Err = String;

    /// As of QEMU's `-smp`: what is not named is 1.
    fn from_str(text: &str) -> Result<Self, String> {
        let [mut sockets, mut cores, mut threads] = [None; 3];
        for word in text.split(',') {
            let (name, number) = word.split_once('=').unwrap_or((word, ""));
            let place = match name {
                "sockets" => &mut sockets,
                "cores" => &mut cores,
                "threads" => &mut threads,
                _ => return Err(format!("{name:?} is none of sockets, cores, threads")),
            };
            let number = number
                .parse()
                .ok()
                .filter(|number| (1..=64).contains(number));
            let number: u32 =
                number.ok_or(format!("{name} needs a number from 1 to 64: {name}=2"))?;
            if place.replace(number).is_some() {
                return Err(format!("{name} is there twice"));
            }
        }
        let topology = Self {
            sockets: sockets.unwrap_or(1),
            cores: cores.unwrap_or(1),
            threads: threads.unwrap_or(1),
        };
        match topology.cpus() {
            cpus if cpus > 64 => Err(format!("that is {cpus} CPUs, and a guest has 64 at most")),
            _ => Ok(topology),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_is_one_and_sockets_are_numbered_through() {
        let both: Topology = "threads=2,sockets=2,cores=3".parse().unwrap();
        assert_eq!((both.cpus(), both.of_socket(1)), (12, (6, 11)));
        assert_eq!(both.to_string().parse(), Ok(both));
        let flat: Topology = "cores=4".parse().unwrap();
        assert_eq!(flat.to_string(), "sockets=1,cores=4,threads=1");
    }

    #[test]
    fn other_words_are_refused_in_a_sentence() {
        for (text, words) in [
            ("", "none of sockets, cores, threads"),
            ("dies=2", "none of sockets, cores, threads"),
            ("cores", "cores=2"),
            ("cores=0", "from 1 to 64"),
            ("cores=2,cores=2", "twice"),
            ("sockets=64,cores=64,threads=64", "64 at most"),
        ] {
            let said = text.parse::<Topology>().unwrap_err();
            assert!(said.contains(words), "{text}: {said}");
        }
        let refused = Topology::refuse("cores=2".parse().ok(), "it").unwrap_err();
        assert!(refused.to_string().contains("--topology"), "{refused}");
    }
}
