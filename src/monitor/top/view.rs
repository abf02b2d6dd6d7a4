// SPDX-License-Identifier: GPL-2.0-only
//! Draws what is known into cells, from 80 columns and 24 lines on.

use super::rows;
use super::state::{Sort, State};
use crate::now::{Cpu, Now, Role};
use artis_result::terminal::plain;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Clear, Paragraph, Row, Table, Widget, Wrap};

/// Lines of tables, with their heads, that are kept for the others.
const RT0_LINES_MIN: u16 = 4;
/// RT1+ tasks and culprits that are shown at most where there is no more room.
const OTHERS: u16 = 4;
/// Lines for what is unknown.
const NOTES: u16 = 3;

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn head() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

/// Draws the whole screen.
pub fn draw(now: &Now, state: &State, area: Rect, buffer: &mut Buffer) {
    let heading = rows::heading(now);
    let notes: Vec<String> = now.unknown.iter().map(|one| plain(one)).collect();
    let lines = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let rt1: Vec<_> = now
        .rt1
        .iter()
        .filter(|one| state.shows(&one.name))
        .collect();
    let notes = Paragraph::new(notes.into_iter().map(Line::from).collect::<Vec<_>>())
        .wrap(Wrap { trim: true });
    let note_lines = lines(now.unknown.iter().map(|one| one.len()).sum::<usize>())
        .div_ceil(area.width.max(1))
        .min(NOTES);
    let room = area.height.saturating_sub(4 + note_lines);
    let rt1_lines = match rt1.len() {
        0 => 0,
        count => (lines(count) + 1).min(OTHERS.max(room / 6)),
    };
    let culprit_lines = match now.culprits.len() {
        0 => 0,
        count => (lines(count) + 1).min(OTHERS.max(room / 6)),
    };
    let left = room.saturating_sub(rt1_lines + culprit_lines + RT0_LINES_MIN);
    let cpu_lines = (lines(now.cpus.len()) + 1)
        .min(left.max(2))
        .min((room / 3).max(3));
    let [top, notes_area, cpus, rt0, rt1_area, culprits, foot] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Length(note_lines),
        Constraint::Length(cpu_lines),
        Constraint::Min(0),
        Constraint::Length(rt1_lines),
        Constraint::Length(culprit_lines),
        Constraint::Length(1),
    ])
    .areas(area);
    let mut first = vec![Line::styled(
        format!("artis {}, Linux {}", now.tool, plain(&now.kernel)),
        bold(),
    )];
    first.extend(heading.map(Line::from));
    Paragraph::new(first).render(top, buffer);
    notes.render(notes_area, buffer);
    draw_cpus(&now.cpus, cpus, buffer);
    draw_rt0(now, state, rt0, buffer);
    let rt1_rows = rt1.iter().map(|one| rows::rt1(one)).collect();
    table(&rows::RT1, "RT1+", rt1_rows, rt1_area, buffer);
    let mut lines = vec![Line::styled("who made the last late wakeups", head())];
    lines.extend(
        now.culprits
            .iter()
            .map(|one| Line::from(rows::culprit(one))),
    );
    Paragraph::new(lines).render(culprits, buffer);
    Paragraph::new(Line::styled(foot_text(state), bold())).render(foot, buffer);
    if state.shows_help {
        help(area, buffer);
    }
}

fn foot_text(state: &State) -> String {
    if state.is_typing {
        return format!(
            "filter: {}_  Enter keeps it, Esc drops it",
            plain(&state.filter)
        );
    }
    let order = match state.is_reversed {
        true => format!("{}, reversed", state.sort.word()),
        false => state.sort.word().to_owned(),
    };
    let mut text = format!("q quit  h help  s sort: {order}  / filter");
    if !state.filter.is_empty() {
        text += &format!(": {}", plain(&state.filter));
    }
    text += match state.is_paused {
        true => "  PAUSED, space goes on",
        false => "  space pause",
    };
    text
}

/// RT CPUs first; where there are more than lines, how many more.
fn draw_cpus(cpus: &[Cpu], area: Rect, buffer: &mut Buffer) {
    let mut shown: Vec<&Cpu> = cpus.iter().collect();
    shown.sort_by_key(|one| (one.role != Role::Rt, one.role == Role::Offline, one.cpu));
    let room = usize::from(area.height.saturating_sub(1));
    let more = shown.len().saturating_sub(room);
    if more > 0 {
        shown.truncate(room.saturating_sub(1));
    }
    let mut all: Vec<[String; 5]> = shown.into_iter().map(rows::cpu).collect();
    if more > 0 {
        let rest = cpus.len() - all.len();
        all.push([
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            format!("and {rest} more CPUs"),
        ]);
    }
    table(&rows::CPUS, "", all, area, buffer);
}

fn draw_rt0(now: &Now, state: &State, area: Rect, buffer: &mut Buffer) {
    let shown = state.rt0(&now.rt0);
    let last = shown.len().saturating_sub(1);
    let rest = shown.iter().skip(state.scrolled.min(last));
    let all: Vec<[String; 10]> = rest.map(|one| rows::rt0(one)).collect();
    let is_empty = all.is_empty();
    table(&rows::RT0, "", all, area, buffer);
    if is_empty && area.height > 1 {
        let text = match state.filter.is_empty() {
            true => "no thread has a real-time policy; `artis run rt0 -- COMMAND` starts one",
            false => "no real-time thread has such a name",
        };
        let below = Rect::new(area.x, area.y + 1, area.width, 1);
        Paragraph::new(text).render(below, buffer);
    }
}

/// A table; names are to the left, figures to the right.
fn table<const N: usize>(
    columns: &[(&'static str, u16); N],
    title: &'static str,
    all: Vec<[String; N]>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let is_text = |name: &str| matches!(name, "name" | "who" | "role" | "policy");
    let cell = |(name, text): (&'static str, String)| {
        let line = Line::from(text);
        Cell::from(match is_text(name) {
            true => line,
            false => line.right_aligned(),
        })
    };
    let names = columns.map(|(name, _)| name);
    let heads = names.into_iter().map(|name| match name {
        "name" if !title.is_empty() => cell((name, format!("name, {title}"))),
        name => cell((name, name.to_owned())),
    });
    let widths = columns.map(|(_, width)| match width {
        0 => Constraint::Min(8),
        width => Constraint::Length(width),
    });
    let lines = all
        .into_iter()
        .map(|row| Row::new(names.into_iter().zip(row).map(cell).collect::<Vec<_>>()));
    let heads = Row::new(heads.collect::<Vec<_>>()).style(head());
    Widget::render(Table::new(lines, widths).header(heads), area, buffer);
}

fn help(area: Rect, buffer: &mut Buffer) {
    let orders: Vec<&str> = Sort::ALL.iter().map(|one| one.word()).collect();
    let text = [
        "q, Esc      end".to_owned(),
        "space, p    pause, go on".to_owned(),
        format!("s, r        sort by {}; reverse", orders.join(", ")),
        "/, f        show threads with this in their name".to_owned(),
        "up, down    scroll RT0".to_owned(),
        String::new(),
        "late      wakeups above the bound (--bound)".to_owned(),
        "median,   us from when the timer was due until the scheduler".to_owned(),
        "99.9%     began to switch; with q: only from runnable on".to_owned(),
        "bound     us of the response that it was admitted with;".to_owned(),
        "          ! it was let in although the set did not fit".to_owned(),
        "who       had most of the CPU since the last look".to_owned(),
        String::new(),
        "any key goes back".to_owned(),
    ];
    let height = (text.len() as u16 + 1).min(area.height);
    let width = 66.min(area.width);
    let at = Rect::new(
        area.x + (area.width - width) / 2,
        area.y + (area.height - height) / 2,
        width,
        height,
    );
    Clear.render(at, buffer);
    let mut lines = vec![Line::styled("artis top", head())];
    lines.extend(text.into_iter().map(Line::from));
    Paragraph::new(lines).render(at, buffer);
}

/// The screen as text, of this width and as many lines as all of it needs.
pub fn page(now: &Now, state: &State, width: u16) -> String {
    let (cpus, rt1, culprits) = (now.cpus.len(), now.rt1.len(), now.culprits.len());
    // Heads and notes, and that each has its part of the lines: see draw().
    let parts = 3 * (cpus + 2) + 6 * (rt1.max(culprits) + 2);
    let needed = 12 + cpus + now.rt0.len() + rt1 + culprits + parts;
    let height = u16::try_from(needed).unwrap_or(u16::MAX);
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    draw(now, state, area, &mut buffer);
    let mut lines = lines(&buffer);
    // The keys are for a terminal.
    lines.pop();
    lines.dedup_by(|one, other| one.is_empty() && other.is_empty());
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n") + "\n"
}

/// The text of each line.
pub fn lines(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    let line = |y| {
        let mut line = String::new();
        let mut x = area.left();
        while x < area.right() {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // A wide letter has the next cell, too.
            x += (Span::raw(symbol).width() as u16).max(1);
        }
        line.trim_end().to_owned()
    };
    (area.top()..area.bottom()).map(line).collect()
}
