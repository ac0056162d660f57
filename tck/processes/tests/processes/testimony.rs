//! What the workers' logs prove together.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use simba_processes::{Log, Record};

use crate::scratch::Scratch;

/// All logs of a test, by the process ids of their writers.
pub(crate) struct Testimony(BTreeMap<u32, Vec<Record>>);

/// A term that was seen valid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leading {
    pub(crate) pid: u32,
    pub(crate) token: u64,
    /// When it was seen, by the clock of all processes.
    pub(crate) at: Duration,
}

/// From the first to the last look that found a term valid.
struct Seen {
    first: Duration,
    last: Duration,
}

impl Testimony {
    pub(crate) fn of(scratch: &Scratch) -> Self {
        let read = |path: &Path| Log::read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let pid = |path: &Path| path.file_stem()?.to_str()?.parse().ok();
        let logs = scratch.logs().expect("the directory is there");
        Self(logs.iter().map(|path| (pid(path).expect("named by a process id"), read(path))).collect())
    }

    /// The records of one process.
    pub(crate) fn by(&self, pid: u32) -> &[Record] {
        &self.0[&pid]
    }

    /// The first look that found a term with a higher token valid, at that time or later.
    pub(crate) fn leading(&self, above: u64, since: Duration) -> Option<Leading> {
        let all = self.0.iter().flat_map(|(pid, log)| log.iter().map(|record| (*pid, record)));
        let valid = all.filter_map(|(pid, record)| match record {
            Record::Valid { token, at } => Some(Leading { pid, token: *token, at: *at }),
            _ => None,
        });
        valid.filter(|seen| seen.token > above && seen.at >= since).min_by_key(|seen| seen.at)
    }

    /// The longest time between two moments in which no term was seen valid.
    pub(crate) fn longest_gap(&self, since: Duration, until: Duration) -> Duration {
        let records = self.0.values().flatten();
        let mut valid: Vec<_> = records
            .filter_map(|record| match record {
                Record::Valid { at, .. } if (since..until).contains(at) => Some(*at),
                _ => None,
            })
            .chain([since, until])
            .collect();
        valid.sort_unstable();
        valid.windows(2).map(|pair| pair[1] - pair[0]).max().expect("two moments at the least")
    }

    /// The session that won a term.
    pub(crate) fn session_of(&self, term: Leading) -> &str {
        let won =
            |record: &'_ Record| matches!(record, Record::Elected { token, .. } if *token == term.token);
        let record = self.by(term.pid).iter().rfind(|record| won(record));
        let Some(Record::Elected { session, .. }) = record else { panic!("{term:?} was never won") };
        session
    }

    /// Checks that no two terms were valid at the same time, where tokens may go back.
    pub(crate) fn check_alternation(&self) {
        let mut looks = Vec::new();
        for (pid, log) in &self.0 {
            let mut terms = 0;
            for record in log {
                match record {
                    Record::Elected { .. } => terms += 1,
                    Record::Valid { at, .. } => looks.push((*at, *pid, terms)),
                    _ => {}
                }
            }
        }
        looks.sort_unstable();
        looks.dedup_by_key(|(_, pid, term)| (*pid, *term));
        let mut seen = BTreeSet::new();
        for (at, pid, term) in looks {
            assert!(
                seen.insert((pid, term)),
                "{pid}'s term {term} was valid at {at:?}, and another's before"
            );
        }
    }

    /// Checks everything, and tells how many terms were seen valid.
    pub(crate) fn check(&self) -> usize {
        self.0.values().for_each(|log| check_alone(log));
        let mut terms: BTreeMap<u64, Seen> = BTreeMap::new();
        for log in self.0.values() {
            let seen = seen(log);
            for token in seen.keys() {
                assert!(!terms.contains_key(token), "two processes saw a term with token {token}");
            }
            terms.extend(seen);
        }
        let ordered: Vec<_> = terms.iter().collect();
        for pair in ordered.windows(2) {
            let [(token, before), (next, after)] = pair else { unreachable!("windows of two") };
            assert!(
                before.last < after.first,
                "token {token} was valid until {:?} and token {next} from {:?}",
                before.last,
                after.first
            );
        }
        terms.len()
    }
}

fn seen(log: &[Record]) -> BTreeMap<u64, Seen> {
    let mut terms = BTreeMap::new();
    for record in log {
        if let Record::Valid { token, at } = record {
            terms.entry(*token).or_insert(Seen { first: *at, last: *at }).last = *at;
        }
    }
    terms
}

/// `Elected` and `Revoked` alternate, one each, tokens rising; and no term is valid again once it was not.
fn check_alone(log: &[Record]) {
    let (mut highest, mut open, mut ended) = (0, None, 0);
    for record in log {
        match record {
            Record::Elected { token, .. } => {
                assert_eq!(open, None, "{record:?} while another term runs");
                assert!(*token > highest, "{record:?} after token {highest}");
                (highest, open) = (*token, Some(*token));
            }
            Record::Revoked { token, .. } => assert_eq!(open.take(), Some(*token), "{record:?}"),
            Record::Valid { token, .. } => assert!(*token > ended, "{record:?} after its end"),
            Record::Invalid { token, .. } => ended = *token,
            Record::RefusedWhileValid { .. } | Record::Failed { .. } => panic!("{record:?}"),
            _ => panic!("a record that nobody checks: {record:?}"),
        }
    }
}
