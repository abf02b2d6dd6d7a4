// SPDX-License-Identifier: GPL-2.0-only
//! The files that the page is made of, inside the page, to be saved again.

use super::{Content, Section};
use crate::digits::digits;
use crate::words::plain;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::html;

/// A file as it was read.
pub struct Raw<'a> {
    /// Of the file, without its folder.
    pub name: String,
    pub bytes: &'a [u8],
}

pub(super) fn section(content: &Content) -> Option<Section> {
    let body = html! {
        p { "The files that this page is made of are in it, as they were read. "
            code { "artis compare" } " and " code { "artis result show" } " read them." }
        ul.files { @for file in content.files { li {
            @let data = STANDARD.encode(file.bytes);
            a download=(plain(&file.name)) href={ "data:application/octet-stream;base64," (data) } {
                (plain(&file.name))
            }
            " " span.quiet { (digits(file.bytes.len() as f64 / 1000.0)) " kB" }
        } } }
    };
    (!content.files.is_empty()).then_some(Section {
        id: "files",
        title: "Files",
        single: false,
        body,
    })
}
