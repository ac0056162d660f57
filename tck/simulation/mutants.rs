// The mutants: engines with one rule left out, each of which the seeds must catch.
// Shared by the build script, which makes them, and the tests, which run them.

/// An engine with one rule left out.
#[allow(dead_code, reason = "the build script and the tests use different parts")]
struct Mutant {
    name: &'static str,
    /// The rule, or the section of the design.
    rule: &'static str,
    /// What is left out.
    without: &'static str,
    edits: &'static [Edit],
}

/// A text that occurs exactly once in a file of the engine, and what stands there instead.
struct Edit {
    file: &'static str,
    find: &'static str,
    replace: &'static str,
}

const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "no_drift",
        rule: "section 4",
        without: "validity makes no allowance for clocks that run wrong",
        edits: &[Edit {
            file: "timing.rs",
            find: "let drift = remaining * self.drift_ppm / 1_000_000;",
            replace: "let drift = Duration::ZERO;",
        }],
    },
];
