// SPDX-License-Identifier: GPL-2.0-only
//! The light watch with the flight recorder behind it, as far as this machine and its user allow.

use crate::culprits::{OnDemand, Outcome, Plan};
use crate::look::Watched;
use crate::now::Watch;
use artis_machine::Root;
use artis_watch::{Alert, Error, LightWatch, Settings, Storage};

/// What both have seen since the last call.
#[derive(Debug, Default)]
pub struct Seen {
    pub alerts: Vec<Alert>,
    pub outcome: Option<Outcome>,
}

/// Both, while there are any.
pub struct Watcher<'obj> {
    light: Option<LightWatch<'obj>>,
    demand: Option<OnDemand>,
    bound_ns: Option<u64>,
    unknown: Vec<String>,
}

impl<'obj> Watcher<'obj> {
    /// Begins to watch. Where that is not possible, it says why among what is unknown.
    ///
    /// # Errors
    /// When more was asked for than there is room for.
    pub fn start(storage: &'obj mut Storage, settings: &Settings) -> Result<Self, Error> {
        let bound_ns = settings.bound_ns;
        match LightWatch::load(storage, settings) {
            Ok(light) => Ok(Self {
                unknown: light.absent().to_vec(),
                light: Some(light),
                demand: bound_ns.map(|bound_ns| OnDemand::new(Plan::new(bound_ns))),
                bound_ns,
            }),
            Err(error @ Error::TooMany { .. }) => Err(error),
            Err(error) => Ok(Self {
                light: None,
                demand: None,
                bound_ns,
                unknown: vec![error.to_string()],
            }),
        }
    }

    /// To be called some times a second.
    pub fn poll(&mut self) -> Seen {
        let alerts = self
            .light
            .as_mut()
            .map(LightWatch::alerts)
            .unwrap_or_default();
        let demand = self.demand.as_mut();
        Seen {
            outcome: demand.and_then(|demand| demand.look(&alerts)),
            alerts,
        }
    }

    /// What is known of the threads now; those that have ended make room.
    pub fn watched(&mut self, root: &Root) -> Watched {
        let demand = self.demand.as_ref();
        let light = self.light.as_mut();
        let watch = Watch {
            is_on: light.is_some(),
            bound_ns: self.bound_ns,
            not_kept: light.as_ref().map_or(0, |light| light.not_kept()),
            missed: light.as_ref().map_or(0, |light| light.missed()),
            recordings: demand.map_or(0, |demand| demand.recordings),
            is_recording: demand.is_some_and(OnDemand::is_on),
        };
        let threads = light.map(|light| {
            light.forget_ended(root);
            light.threads()
        });
        Watched {
            watch,
            threads: threads.unwrap_or_default(),
            culprits: demand.map(OnDemand::kept).unwrap_or_default(),
            unknown: self.unknown.clone(),
        }
    }
}
