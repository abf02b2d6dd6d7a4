// SPDX-License-Identifier: GPL-2.0-only
//! The bill of materials: each crate that is linked into what is installed, with its version,
//! licence and checksum. What only builds or tests artis is not in it.
//!
//! Source: CycloneDX 1.6; `cargo metadata`, and `Cargo.lock` for the checksums. No date and no
//! number of its own: the same sources give the same file.

use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The packages whose programs are installed.
const SHIPPED: [&str; 3] = ["artis-rt", "artis-guest", "artis-guest-sched"];

/// The document, for the sources in the current folder.
///
/// # Errors
/// When cargo does not say what it would build, or says something else.
pub fn document() -> anyhow::Result<Value> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let words = ["metadata", "--locked", "--format-version", "1"];
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(words)
        .args(["--filter-platform", &platform])
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        bail!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let workspace = text(&metadata["workspace_root"])?;
    let lock = std::fs::read_to_string(format!("{workspace}/Cargo.lock"))?;
    from(&metadata, &lock.parse()?)
}

fn from(metadata: &Value, lock: &toml::Table) -> anyhow::Result<Value> {
    let packages = by_id(&metadata["packages"])?;
    let nodes = by_id(&metadata["resolve"]["nodes"])?;
    let checksums = checksums(lock);
    let shipped = |package: &&Value| SHIPPED.iter().any(|name| package["name"] == *name);
    let tops: Vec<&Value> = packages.values().copied().filter(shipped).collect();
    let mut left: Vec<&str> = Vec::new();
    for top in &tops {
        left.push(text(&top["id"])?);
    }
    let mut seen = BTreeSet::new();
    let (mut components, mut dependencies) = (BTreeMap::new(), BTreeMap::new());
    while let Some(id) = left.pop() {
        if !seen.insert(id) {
            continue;
        }
        let package = packages
            .get(id)
            .with_context(|| format!("no package {id}"))?;
        let mut below = BTreeSet::new();
        for next in linked(nodes.get(id).copied(), &packages)? {
            below.insert(purl(packages[next])?);
            left.push(next);
        }
        let purl = purl(package)?;
        components.insert(purl.clone(), component(package, &purl, &checksums)?);
        dependencies.insert(purl.clone(), json!({ "ref": purl, "dependsOn": below }));
    }
    let version = tops.first().context("no package of artis")?["version"].clone();
    let tops: Vec<String> = tops.into_iter().map(purl).collect::<Result<_, _>>()?;
    let whole = json!({ "ref": "artis", "dependsOn": tops });
    let dependencies: Vec<Value> = [whole]
        .into_iter()
        .chain(dependencies.into_values())
        .collect();
    let artis = json!({
        "type": "application", "bom-ref": "artis", "name": "artis", "version": version,
        "licenses": [{ "expression": "GPL-2.0-only" }],
    });
    Ok(json!({
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": { "component": artis },
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies,
    }))
}

fn text(value: &Value) -> anyhow::Result<&str> {
    value.as_str().context("cargo metadata has another form")
}

fn by_id(list: &Value) -> anyhow::Result<BTreeMap<&str, &Value>> {
    let list = list.as_array().context("cargo metadata has another form")?;
    list.iter()
        .map(|one| Ok((text(&one["id"])?, one)))
        .collect()
}

/// By name and version.
fn checksums(lock: &toml::Table) -> BTreeMap<(String, String), String> {
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let of = |package: &toml::Value| {
        let text = |key: &str| Some(package.get(key)?.as_str()?.to_owned());
        Some(((text("name")?, text("version")?), text("checksum")?))
    };
    packages.into_iter().flatten().filter_map(of).collect()
}

/// The packages that this one is linked with: no macros, no tests, nothing of build scripts.
fn linked<'a>(
    node: Option<&'a Value>,
    packages: &BTreeMap<&str, &Value>,
) -> anyhow::Result<Vec<&'a str>> {
    let deps = node.and_then(|node| node["deps"].as_array());
    let mut linked = Vec::new();
    for dep in deps.into_iter().flatten() {
        let kinds = dep["dep_kinds"].as_array();
        let is_normal = kinds
            .into_iter()
            .flatten()
            .any(|kind| kind["kind"].is_null());
        let id = text(&dep["pkg"])?;
        let targets = packages
            .get(id)
            .and_then(|package| package["targets"].as_array());
        let mut targets = targets.into_iter().flatten();
        let is_macro = targets.any(|target| target["kind"][0] == "proc-macro");
        if is_normal && !is_macro {
            linked.push(id);
        }
    }
    Ok(linked)
}

fn purl(package: &Value) -> anyhow::Result<String> {
    let version = text(&package["version"])?.replace('+', "%2B");
    Ok(format!("pkg:cargo/{}@{version}", text(&package["name"])?))
}

fn component(
    package: &Value,
    purl: &str,
    checksums: &BTreeMap<(String, String), String>,
) -> anyhow::Result<Value> {
    let (name, version) = (text(&package["name"])?, text(&package["version"])?);
    // Older crates write OR as a stroke.
    let licence = text(&package["license"]).with_context(|| format!("{name} has no licence"))?;
    let licence = licence.replace(" / ", " OR ").replace('/', " OR ");
    let mut component = json!({
        "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
        "licenses": [{ "expression": licence }],
    });
    if let Some(checksum) = checksums.get(&(name.to_owned(), version.to_owned())) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    Ok(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lists_what_is_linked_and_nothing_else() {
        let document = document().unwrap();
        let components = document["components"].as_array().unwrap();
        let names: Vec<&str> = components
            .iter()
            .map(|it| it["name"].as_str().unwrap())
            .collect();
        for linked in SHIPPED
            .into_iter()
            .chain(["libbpf-rs", "libbpf-sys", "artis-sched", "clap"])
        {
            assert!(names.contains(&linked), "{linked} is not in it");
        }
        for other in [
            "proptest",
            "jsonschema",
            "bindgen",
            "clang-sys",
            "serde_derive",
            "artis-testing",
        ] {
            assert!(!names.contains(&other), "{other} is in it");
        }
        let refs: BTreeSet<&str> = components
            .iter()
            .map(|it| it["bom-ref"].as_str().unwrap())
            .collect();
        assert_eq!(refs.len(), components.len(), "a reference is there twice");
        for component in components {
            let is_ours = component["name"].as_str().unwrap().starts_with("artis-");
            let sum = component["hashes"][0]["content"].as_str();
            assert!(
                is_ours || sum.is_some_and(|sum| sum.len() == 64),
                "{component}"
            );
            let licence = component["licenses"][0]["expression"].as_str().unwrap();
            assert!(!licence.contains('/'), "{component}");
        }
        let dependencies = document["dependencies"].as_array().unwrap();
        assert_eq!(dependencies.len(), components.len() + 1);
        for dependency in dependencies {
            for below in dependency["dependsOn"].as_array().unwrap() {
                assert!(
                    refs.contains(below.as_str().unwrap()),
                    "{below} is no component"
                );
            }
        }
        assert_eq!(document, super::document().unwrap());
    }
}
