//! Makes a copy of the engine for each mutant, with the mutant's edits.

use std::{
    env, fmt::Write as _, fs,
    path::{Path, PathBuf},
};

include!("table.rs");

fn main() {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let engine = here.join("../../../simba-actors/src/engine");
    println!("cargo::rerun-if-changed={}", engine.display());
    println!("cargo::rerun-if-changed=table.rs");

    let mut modules = String::new();
    let mut table = String::new();
    let mut tests = String::new();
    for mutant in MUTANTS {
        let name = mutant.name;
        let copy = out.join("mutants").join(name);
        mutate(&engine, &copy, mutant);
        let (copy, sim) = (copy.join("mod.rs"), here.join("../src/sim/mod.rs"));
        writeln!(
            modules,
            "#[allow(warnings, clippy::all)]\nmod {name} {{\n    #[path = {copy:?}]\n    pub mod engine;\n    \
             #[path = {sim:?}]\n    pub mod sim;\n}}"
        )
        .expect("a string takes everything");
        writeln!(table, "    ({name:?}, {name}::sim::run),").expect("a string takes everything");
        writeln!(tests, "#[test]\nfn {name}_is_caught() {{\n    caught({name:?});\n}}")
            .expect("a string takes everything");
    }
    let ty = "&[(&str, crate::Run)]";
    let all = format!("{modules}\npub(crate) const ALL: {ty} = &[\n{table}];\n");
    fs::write(out.join("mutants.rs"), all).expect("OUT_DIR is ours");
    fs::write(out.join("mutant_tests.rs"), tests).expect("OUT_DIR is ours");
}

/// Copies the engine with the edits. A stale one is an error: its rule would no longer be tested.
fn mutate(engine: &Path, copy: &Path, mutant: &Mutant) {
    fs::create_dir_all(copy).expect("OUT_DIR is ours");
    let files: Vec<_> = mutant.edits.iter().map(|edit| edit.file).collect();
    for entry in fs::read_dir(engine).expect("the engine is there") {
        let path = entry.expect("the folder is readable").path();
        if path.extension().is_none_or(|ext| ext != "rs") {
            continue;
        }
        let name = path.file_name().expect("a file").to_str().expect("a module name");
        let mut text = fs::read_to_string(&path).expect("source text");
        assert!(files.iter().all(|file| engine.join(file).exists()), "{}: no such file", mutant.name);
        for edit in mutant.edits.iter().filter(|edit| edit.file == name) {
            let found = text.matches(edit.find).count();
            assert!(found == 1, "mutant {}: {found} places in {name} for:\n{}", mutant.name, edit.find);
            text = text.replace(edit.find, edit.replace);
        }
        fs::write(copy.join(name), text.replace("#[cfg(test)]\nmod tests;\n", "")).expect("OUT_DIR is ours");
    }
}
