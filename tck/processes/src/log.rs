//! What a worker saw, in a file that survives its SIGKILL.

use std::{
    fmt::{self, Display},
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
    str::FromStr,
    time::Duration,
};

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record {
    /// The leader actor got `Elected`.
    Elected {
        /// The token of the term.
        token: u64,
        /// The session that won it.
        session: String,
    },
    /// The term was valid when it was looked at, so it was at this time before the look.
    Valid {
        /// The token of the term.
        token: u64,
        /// By the clock of all processes.
        at: Duration,
    },
    /// The first look that found the term invalid.
    Invalid {
        /// The token of the term.
        token: u64,
        /// By the clock of all processes.
        at: Duration,
    },
    /// The leader actor got `Revoked`.
    Revoked {
        /// The token of the term.
        token: u64,
        /// Why.
        reason: String,
    },
    /// The fence refused a write although the term was valid after it: the promise is broken.
    RefusedWhileValid {
        /// The token of the term.
        token: u64,
    },
    /// Something failed that must not.
    Failed {
        /// What.
        error: String,
    },
}

impl Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elected { token, session } => write!(f, "elected {token} {session}"),
            Self::Valid { token, at } => write!(f, "valid {token} {}", at.as_nanos()),
            Self::Invalid { token, at } => write!(f, "invalid {token} {}", at.as_nanos()),
            Self::Revoked { token, reason } => write!(f, "revoked {token} {reason}"),
            Self::RefusedWhileValid { token } => write!(f, "refused-while-valid {token}"),
            Self::Failed { error } => write!(f, "failed {}", error.replace('\n', " ")),
        }
    }
}

impl FromStr for Record {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (token, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        let bad = |_| format!("no record: {line:?}");
        let token = || token.parse::<u64>().map_err(bad);
        let at = || tail.parse().map(Duration::from_nanos).map_err(bad);
        match word {
            "elected" => Ok(Self::Elected { token: token()?, session: tail.to_owned() }),
            "valid" => Ok(Self::Valid { token: token()?, at: at()? }),
            "invalid" => Ok(Self::Invalid { token: token()?, at: at()? }),
            "revoked" => Ok(Self::Revoked { token: token()?, reason: tail.to_owned() }),
            "refused-while-valid" => Ok(Self::RefusedWhileValid { token: token()? }),
            "failed" => Ok(Self::Failed { error: rest.to_owned() }),
            _ => Err(format!("no record: {line:?}")),
        }
    }
}

/// A worker's log. Each record is one write, so that a kill leaves whole lines.
#[derive(Debug)]
pub struct Log(File);

impl Log {
    /// Opens the log of a process in a directory, to add to it.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn open(directory: &Path, pid: u32) -> io::Result<Self> {
        let path = directory.join(format!("{pid}.log"));
        Ok(Self(OpenOptions::new().create(true).append(true).open(path)?))
    }

    /// Adds a record.
    ///
    /// # Panics
    ///
    /// If it cannot be written: a log with gaps proves nothing.
    pub fn add(&self, record: &Record) {
        (&self.0).write_all(format!("{record}\n").as_bytes()).expect("the log can be written");
    }

    /// Reads all records of a log.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or holds something else.
    pub fn read(path: &Path) -> io::Result<Vec<Record>> {
        fs::read_to_string(path)?.lines().map(|line| line.parse().map_err(io::Error::other)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_was_written_is_read_back() {
        let at = Duration::new(3, 7);
        for record in [
            Record::Elected { token: 1, session: "abc".to_owned() },
            Record::Valid { token: 2, at },
            Record::Invalid { token: 2, at },
            Record::Revoked { token: 1, reason: "deadline".to_owned() },
            Record::RefusedWhileValid { token: 4 },
            Record::Failed { error: "the disk is full".to_owned() },
        ] {
            assert_eq!(record.to_string().parse(), Ok(record));
        }
        assert!("valid 1".parse::<Record>().is_err());
    }
}
