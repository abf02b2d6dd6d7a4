// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler as a service: its configuration file, and the partition that ends with it.
//!
//! [`config`] understands the file and reads nothing. [`partition`] makes the partition that the
//! file asks for and puts it back when the scheduler stops, or, after a `kill -9`, when artis is
//! next called. Loading and driving the scheduler is [`artis_sched::service`]'s.

pub mod config;
pub mod partition;
