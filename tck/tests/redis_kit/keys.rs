//! The keys as the reference has them, written out once more.

use simba_backends::SessionId;

pub(crate) fn lease(name: impl std::fmt::Display) -> String {
    format!("simba:lease:{{{name}}}")
}

pub(crate) fn group(name: impl std::fmt::Display) -> String {
    format!("simba:group:{{{name}}}")
}

pub(crate) fn session(session: &SessionId) -> String {
    format!("simba:session:{{{session}}}")
}

pub(crate) fn leases_of(session: &SessionId) -> String {
    format!("simba:session:{{{session}}}:leases")
}

pub(crate) fn groups_of(session: &SessionId) -> String {
    format!("simba:session:{{{session}}}:groups")
}
