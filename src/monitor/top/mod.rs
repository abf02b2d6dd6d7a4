// SPDX-License-Identifier: GPL-2.0-only
//! The screen of `artis top`: [`state`] has what keys change, [`view`] draws what is known,
//! [`rows`] says what stands in the columns.
//!
//! Draws into cells only, so a test reads them as a person does. Knows no terminal.

pub mod rows;
pub mod state;
pub mod view;
