// SPDX-License-Identifier: GPL-2.0-only
//! What is shown and said of made-up moments.

mod events;
mod screen;
