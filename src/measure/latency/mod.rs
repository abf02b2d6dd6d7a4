// SPDX-License-Identifier: GPL-2.0-only
//! Latency: how late an event is answered, and where the time went.

pub mod split;
