// SPDX-License-Identifier: GPL-2.0-only
//! The names of the series of how long units of work take: `completion.user.100us`.

use super::series::Series;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a unit of work consists of.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Nature {
    /// Instructions in user mode.
    #[default]
    User,
    /// System calls, one after the other.
    SystemCalls,
    /// Reads and writes of a file.
    Io,
}

/// Which part of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// From the event to the end of the work.
    Completion,
    /// From the event to its beginning.
    Start,
    /// From its beginning to its end.
    Work,
}

/// A series of such times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitOfWork {
    pub part: Part,
    pub nature: Nature,
    /// How long the work takes on an idle machine, nominally.
    pub length_us: u32,
}

impl Nature {
    pub const ALL: [Self; 3] = [Self::User, Self::SystemCalls, Self::Io];
}

const PARTS: [(Part, &str); 3] = [
    (Part::Completion, "completion"),
    (Part::Start, "start"),
    (Part::Work, "work"),
];

impl fmt::Display for Nature {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self {
            Self::User => "user",
            Self::SystemCalls => "system-calls",
            Self::Io => "io",
        })
    }
}

impl fmt::Display for UnitOfWork {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let part = PARTS.iter().find(|(part, _)| *part == self.part);
        let part = part.map_or("", |(_, word)| word);
        write!(out, "{part}.{}.{}us", self.nature, self.length_us)
    }
}

impl UnitOfWork {
    /// What the series is of; none when it is of something else.
    pub fn of(series: &Series) -> Option<Self> {
        Self::named(&series.name)
    }

    /// As [`of`](Self::of), by its name.
    pub fn named(name: &str) -> Option<Self> {
        let mut words = name.split('.');
        let (part, nature, length) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() {
            return None;
        }
        Some(Self {
            part: PARTS.iter().find(|(_, word)| *word == part)?.0,
            nature: Nature::ALL
                .into_iter()
                .find(|it| it.to_string() == nature)?,
            length_us: length.strip_suffix("us")?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distribution, Kind, Unit};

    #[test]
    fn what_is_written_is_read_again() {
        let of = |name: &str| {
            let values = Distribution::new();
            UnitOfWork::of(&Series::new(
                name,
                Kind::Duration,
                Unit::Nanoseconds,
                values,
            ))
        };
        for (part, _) in PARTS {
            for nature in Nature::ALL {
                let one = UnitOfWork {
                    part,
                    nature,
                    length_us: 1000,
                };
                assert_eq!(of(&one.to_string()), Some(one));
            }
        }
        for name in [
            "latency",
            "completion.user",
            "work.user.5ms",
            "start.io.5us.x",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
