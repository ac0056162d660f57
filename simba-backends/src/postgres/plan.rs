//! Statements that are planned once for each connection, where a connection is one to the server.
//!
//! Planning one of them takes the server as long as running it. Behind a pooler, and on the application's
//! connections, nothing can be kept, and each message has the statement in full.

/// A statement with arguments `$1`, `$2`, ...
pub(super) struct Statement {
    pub(super) name: &'static str,
    /// Of the arguments; `unknown` takes the type of the column that the argument first meets.
    pub(super) types: &'static str,
    pub(super) sql: &'static str,
}

/// Whether plans are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plans {
    Kept,
    Never,
}

impl Statement {
    /// The statement with arguments that are literals.
    pub(super) fn with(&self, arguments: &[&str], plans: Plans) -> String {
        match plans {
            Plans::Kept => format!("execute {}({})", self.name, arguments.join(", ")),
            Plans::Never => arguments.iter().enumerate().fold(self.sql.to_owned(), |sql, (nth, argument)| {
                // No literal has a dollar sign in it.
                sql.replace(&format!("${}", nth + 1), argument)
            }),
        }
    }

    fn prepare(&self) -> String {
        format!("prepare {}({}) as {}", self.name, self.types, self.sql)
    }
}

/// What makes a connection keep plans of these. One is made for all arguments, and may be made while the tables
/// are still empty: each row is to be found by its key, however many there will be.
pub(super) fn prepare(statements: &[&Statement]) -> String {
    let prepare: Vec<String> = statements.iter().map(|statement| statement.prepare()).collect();
    let settings = [
        "set plan_cache_mode = force_generic_plan",
        "set enable_seqscan = off",
        "set enable_hashjoin = off",
        "set enable_mergejoin = off",
    ];
    format!("{}; {}", settings.join("; "), prepare.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_run_by_its_name_or_in_full() {
        let statement = Statement { name: "s", types: "text, int", sql: "select $2 + 1, $1, $2" };
        assert_eq!(statement.prepare(), "prepare s(text, int) as select $2 + 1, $1, $2");
        assert_eq!(statement.with(&["'a'", "7"], Plans::Kept), "execute s('a', 7)");
        assert_eq!(statement.with(&["'a'", "7"], Plans::Never), "select 7 + 1, 'a', 7");
    }
}
