// SPDX-License-Identifier: GPL-2.0-only
//! What keys change on the screen: order, filter, pause, help.

use crate::now::{Rt0, Wakeups};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::cmp::Ordering;

/// Letters that a filter may have.
const FILTER_MAX: usize = 40;

/// By what RT0 threads are ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    /// The longest first.
    #[default]
    Worst,
    P999,
    /// Wakeups above the bound.
    Late,
    Rate,
    Cpu,
    Name,
}

impl Sort {
    pub const ALL: [Self; 6] = [
        Self::Worst,
        Self::P999,
        Self::Late,
        Self::Rate,
        Self::Cpu,
        Self::Name,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Worst => "worst",
            Self::P999 => "99.9%",
            Self::Late => "late",
            Self::Rate => "rate",
            Self::Cpu => "cpu",
            Self::Name => "name",
        }
    }

    fn next(self) -> Self {
        let at = Self::ALL.iter().position(|one| *one == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    /// The greatest first; names and CPUs ascending. Unknown is least.
    pub fn compare(self, one: &Rt0, other: &Rt0) -> Ordering {
        let of = |thread: &Rt0, value: fn(&Wakeups) -> Option<u64>| {
            thread.wakeups.as_ref().and_then(value)
        };
        let greatest = |value: fn(&Wakeups) -> Option<u64>| of(other, value).cmp(&of(one, value));
        let order = match self {
            Self::Worst => greatest(Wakeups::worst_ns),
            Self::P999 => greatest(|it| it.chief().0.p999_ns),
            Self::Late => greatest(|it| it.above),
            Self::Rate => greatest(|it| it.rate.map(|rate| (rate * 1000.0) as u64)),
            Self::Cpu => one.cpu.cmp(&other.cpu),
            Self::Name => one.name.cmp(&other.name),
        };
        order.then(one.tid.cmp(&other.tid))
    }
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Nothing,
    Quit,
}

/// The state of the screen.
#[derive(Debug, Clone, Default)]
pub struct State {
    pub sort: Sort,
    pub is_reversed: bool,
    /// Of names of threads.
    pub filter: String,
    /// It is being typed.
    pub is_typing: bool,
    pub is_paused: bool,
    pub shows_help: bool,
    /// RT0 threads above the first that is shown.
    pub scrolled: usize,
}

impl State {
    /// A key was pressed.
    pub fn key(&mut self, key: KeyEvent) -> Asked {
        if key.kind == KeyEventKind::Release {
            return Asked::Nothing;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Asked::Quit,
                _ => Asked::Nothing,
            };
        }
        if self.is_typing {
            self.type_filter(key.code);
            return Asked::Nothing;
        }
        if self.shows_help {
            self.shows_help = false;
            return Asked::Nothing;
        }
        match key.code {
            KeyCode::Char('q') => return Asked::Quit,
            KeyCode::Esc if self.filter.is_empty() => return Asked::Quit,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char('r') => self.is_reversed = !self.is_reversed,
            KeyCode::Char('/' | 'f') => self.is_typing = true,
            KeyCode::Char(' ' | 'p') => self.is_paused = !self.is_paused,
            KeyCode::Char('h' | '?') => self.shows_help = true,
            KeyCode::Down | KeyCode::Char('j') => self.scrolled += 1,
            KeyCode::Up | KeyCode::Char('k') => self.scrolled = self.scrolled.saturating_sub(1),
            KeyCode::PageDown => self.scrolled += 10,
            KeyCode::PageUp => self.scrolled = self.scrolled.saturating_sub(10),
            KeyCode::Home => self.scrolled = 0,
            _ => {}
        }
        Asked::Nothing
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(letter) if self.filter.chars().count() < FILTER_MAX => {
                self.filter.push(letter);
            }
            _ => {}
        }
        self.scrolled = 0;
    }

    /// The RT0 threads that are shown, in their order.
    pub fn rt0<'a>(&self, all: &'a [Rt0]) -> Vec<&'a Rt0> {
        let mut shown: Vec<&Rt0> = all.iter().filter(|one| self.shows(&one.name)).collect();
        shown.sort_by(|one, other| match self.is_reversed {
            true => self.sort.compare(other, one),
            false => self.sort.compare(one, other),
        });
        shown
    }

    /// Whether the filter lets this name through.
    pub fn shows(&self, name: &str) -> bool {
        name.to_lowercase().contains(&self.filter.to_lowercase())
    }
}
