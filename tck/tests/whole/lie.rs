//! The mutants: each breaks the whole from outside, and each must be caught.

/// What is done wrongly in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    Nothing,
    /// The storage grants a held name without looking at its holder's expiry.
    GrantsTheUnexpired,
    /// The storage frees a name whatever token the release names.
    ReleasesAnyToken,
    /// The storage tells more time than there is left.
    TellsTooLong,
    /// The storage keeps what it is told to free.
    KeepsTheReleased,
    /// A leader loses some `Revoked` on their way.
    DropsRevoked,
    /// A leader gets some `Elected` twice.
    RepeatsElected,
}

impl Lie {
    /// Each with the beginnings of what may be said of it.
    pub(crate) const ALL: [(Self, &[&str]); 6] = [
        (Self::GrantsTheUnexpired, &["I2", "I4"]),
        (Self::ReleasesAnyToken, &["I2", "I4"]),
        (Self::TellsTooLong, &["I6"]),
        (Self::KeepsTheReleased, &["I10", "I15"]),
        (Self::DropsRevoked, &["I5"]),
        (Self::RepeatsElected, &["I5"]),
    ];

    /// Whether the storage's own view proves nothing, because it is what is wrong.
    pub(crate) fn is_in_the_books(self) -> bool {
        matches!(self, Self::GrantsTheUnexpired | Self::ReleasesAnyToken)
    }
}
