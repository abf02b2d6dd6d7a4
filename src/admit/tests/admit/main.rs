// SPDX-License-Identifier: GPL-2.0-only
//! The analyses against published answers, another program's, and exact simulations.

mod files;
mod published;
mod pyrta;
mod random;
mod simulator;
mod textbook;
