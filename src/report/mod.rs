// SPDX-License-Identifier: GPL-2.0-only
//! Figures for people: text tables and pictures.

pub mod experiment;
