//! Makes a copy of the engine for each mutant of the table, and a test for each copy.

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// An engine with one rule left out; `table.txt` explains the fields.
struct Mutant {
    rule: String,
    name: String,
    without: String,
    edits: Vec<Edit>,
}

/// A text that occurs exactly once in a file of the engine, and what stands there instead.
struct Edit {
    file: String,
    find: Vec<String>,
    replace: Vec<String>,
}

fn main() {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let (engine, table) = (here.join("../../../simba-actors/src/engine"), here.join("table.txt"));
    println!("cargo::rerun-if-changed={}", engine.display());
    println!("cargo::rerun-if-changed={}", table.display());
    let table = fs::read_to_string(table).expect("the table is there");
    let mutants: Vec<_> = table.split("\n\n").filter(|entry| !entry.starts_with('#')).map(parse).collect();
    for mutant in &mutants {
        mutate(&engine, &out.join(&mutant.name), mutant);
    }
    let sim = here.join("../src/sim/mod.rs");
    fs::write(out.join("mutants.rs"), modules(&mutants, &out, &sim)).expect("OUT_DIR is ours");
    fs::write(out.join("mutant_tests.rs"), tests(&mutants)).expect("OUT_DIR is ours");
}

fn parse(entry: &str) -> Mutant {
    let mut lines = entry.trim().lines();
    let head = lines.next().expect("an entry has a first line");
    let (rule, rest) = head.split_once(' ').expect("a rule comes first");
    let (name, without) = rest.split_once(": ").expect("a name comes second");
    let mut edits: Vec<Edit> = Vec::new();
    for line in lines {
        match (line.strip_prefix('-'), line.strip_prefix('+'), edits.last_mut()) {
            (Some(find), _, Some(edit)) => edit.find.push(find.to_owned()),
            (_, Some(replace), Some(edit)) => edit.replace.push(replace.to_owned()),
            (None, None, _) => edits.push(Edit { file: line.to_owned(), find: vec![], replace: vec![] }),
            (_, _, None) => panic!("{name}: no file before {line}"),
        }
    }
    Mutant { rule: rule.to_owned(), name: name.to_owned(), without: without.to_owned(), edits }
}

/// Copies the engine with the edits. A stale one is an error: its rule would no longer be tested.
fn mutate(engine: &Path, copy: &Path, mutant: &Mutant) {
    fs::create_dir_all(copy).expect("OUT_DIR is ours");
    for edit in &mutant.edits {
        assert!(engine.join(&edit.file).exists(), "{}: there is no {}", mutant.name, edit.file);
    }
    for entry in fs::read_dir(engine).expect("the engine is there") {
        let path = entry.expect("the folder is readable").path();
        let Some(file) = path.file_name().filter(|_| path.is_file()) else { continue };
        let mut text = fs::read_to_string(&path).expect("source text");
        for edit in mutant.edits.iter().filter(|edit| *edit.file == *file) {
            let find = edit.find.join("\n");
            let places = text.matches(&find).count();
            assert!(places == 1, "{}: {places} places in {} for\n{find}", mutant.name, edit.file);
            text = text.replace(&find, &edit.replace.join("\n"));
        }
        // The engine's own tests stay where it lives.
        let text = text.replace("#[cfg(test)]\nmod tests;\n", "");
        fs::write(copy.join(file), text).expect("OUT_DIR is ours");
    }
}

fn modules(mutants: &[Mutant], out: &Path, sim: &Path) -> String {
    let mut modules = String::new();
    let mut all = String::new();
    for Mutant { name, .. } in mutants {
        let engine = out.join(name).join("mod.rs");
        writeln!(
            modules,
            "#[allow(warnings, clippy::all, reason = \"looked at where the engine and the simulation live\")]\n\
             mod {name} {{\n    #[path = {engine:?}]\n    pub mod engine;\n    \
             #[path = {sim:?}]\n    pub mod sim;\n}}"
        )
        .expect("a string takes everything");
        writeln!(all, "    ({name:?}, {name}::sim::run),").expect("a string takes everything");
    }
    format!("{modules}pub(crate) const ALL: &[(&str, crate::Run)] = &[\n{all}];\n")
}

fn tests(mutants: &[Mutant]) -> String {
    let test = |Mutant { rule, name, without, .. }: &Mutant| {
        format!("#[test]\nfn {name}_is_caught() {{\n    caught({rule:?}, {name:?}, {without:?});\n}}\n")
    };
    mutants.iter().map(test).collect()
}
