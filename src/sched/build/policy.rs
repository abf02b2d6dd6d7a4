// SPDX-License-Identifier: GPL-2.0-only
//! The policy for native callers: C wrappers of its inline functions, and Rust for them.

use artis_bpf_build::{find_libclang, stop};
use bindgen::callbacks::{EnumVariantValue, IntKind, ItemInfo, ItemKind, ParseCallbacks};
use std::env;
use std::path::Path;

/// Compiles `header` for native callers and writes `policy.rs` into `out`.
pub fn generate(header: &str, clang: &Path, out: &Path) {
    let parts = header.trim_end_matches(".h");
    println!("cargo:rerun-if-changed={header}");
    println!("cargo:rerun-if-changed={parts}");
    find_libclang(clang);
    let wrappers = out.join("policy_wrappers.c");
    let bindings = bindgen::Builder::default()
        .header(header)
        .allowlist_file(header)
        .allowlist_file(format!("{parts}/.*"))
        .blocklist_item("(POLICY|ARTIS_POLICY)(_[A-Z]+)?_H")
        .wrap_static_fns(true)
        .wrap_static_fns_path(&wrappers)
        .default_enum_style(bindgen::EnumVariation::Rust {
            non_exhaustive: false,
        })
        .derive_default(true)
        .derive_eq(true)
        .layout_tests(false)
        .merge_extern_blocks(true)
        .rust_edition(bindgen::RustEdition::Edition2024)
        .parse_callbacks(Box::new(Names))
        .generate();
    let rust = match bindings {
        Ok(bindings) => bindings.to_string(),
        Err(error) => stop(&format!("bindgen could not read {header}: {error}")),
    };
    let file = out.join("policy.rs");
    if let Err(error) = std::fs::write(&file, in_rust(&rust)) {
        stop(&format!("could not write {}: {error}", file.display()));
    }
    cc::Build::new()
        .file(&wrappers)
        .include(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default())
        .warnings_into_errors(true)
        .compile("artis_policy");
}

/// What bindgen wrote, with references, safe functions and names as Rust has them. (Were the
/// names changed by bindgen itself, its wrappers in C would use the new ones, too.)
fn in_rust(bindings: &str) -> String {
    // Pure C over what the references point to: whoever has these has all that it needs.
    let text = bindings
        .replace("*const ", "&")
        .replace("*mut ", "&mut ")
        .replace("    pub fn artis_", "    pub safe fn ");
    text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .map(|piece| {
            let word = piece
                .trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            let rest = &piece[word.len()..];
            match word.strip_prefix("artis_") {
                Some(name) if !name.ends_with("__extern") => camel(name) + rest,
                _ => piece.to_owned(),
            }
        })
        .collect()
}

/// Rust's names for C's: no prefix, since the module says it, and Rust's case.
#[derive(Debug)]
struct Names;

impl ParseCallbacks for Names {
    fn int_macro(&self, _name: &str, _value: i64) -> Option<IntKind> {
        Some(IntKind::U64)
    }

    fn item_name(&self, item: ItemInfo) -> Option<String> {
        let is_constant = matches!(item.kind, ItemKind::Var);
        strip(item.name).filter(|_| is_constant).map(str::to_owned)
    }

    fn enum_variant_name(
        &self,
        of: Option<&str>,
        variant: &str,
        _value: EnumVariantValue,
    ) -> Option<String> {
        let of = of.unwrap_or_default().trim_start_matches("enum ");
        let prefix = format!("{}_", of.to_uppercase());
        let short = variant.strip_prefix(&prefix).or_else(|| strip(variant))?;
        Some(camel(short))
    }
}

fn strip(name: &str) -> Option<&str> {
    name.strip_prefix("artis_")
        .or_else(|| name.strip_prefix("ARTIS_"))
}

fn camel(name: &str) -> String {
    name.split('_')
        .map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first
                .into_iter()
                .chain(letters.map(|letter| letter.to_ascii_lowercase()))
                .collect::<String>()
        })
        .collect()
}
