//! The master that Sentinels name: found when it is needed, kept until it fails.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redis::{
    Client, ConnectionAddr, ConnectionInfo, RedisError, ServerErrorKind, Value, cmd, from_redis_value,
};
use tokio::{task::JoinSet, time::timeout};

use super::{
    error::meaning,
    location::{Sentinels, shown},
    node::{Failure, Node, SharedNode},
    source::Source,
};
use crate::{BackendError, ErrorKind, Outcome};

/// No answer comes later than a caller's own limit; this one is only for what nobody waits for.
const ASKING: Duration = Duration::from_secs(60);
/// How long what was asked may keep silent before the Sentinels are asked again.
const ROUND: Duration = Duration::from_millis(500);
/// How long the other Sentinels may keep silent when a master is found that most of them have not named.
const GRACE: Duration = Duration::from_millis(100);

pub(super) struct Master {
    place: String,
    sentinels: Sentinels,
    kept: Mutex<Option<Current>>,
    /// Held while looking, so that one does it for all.
    looking: tokio::sync::Mutex<()>,
}

/// A server that was the master when it was asked.
#[derive(Clone)]
pub(super) struct Current {
    pub(super) node: SharedNode,
    /// Its name and address, for messages.
    pub(super) place: String,
}

/// Whether somebody has talked to it before.
pub(super) enum Found {
    Before(Current),
    Now(Current),
}

impl Master {
    pub(super) fn new(sentinels: Sentinels, place: String) -> Self {
        Self { place, sentinels, kept: Mutex::default(), looking: tokio::sync::Mutex::default() }
    }

    /// The master as it is known, or else looked for.
    ///
    /// # Errors
    /// Nothing was sent to it: [`Outcome::NotApplied`].
    ///
    /// # Cancel safety
    /// The next call looks again.
    pub(super) async fn find(&self, limit: Duration) -> Result<Found, BackendError> {
        if let Some(known) = self.kept().clone() {
            return Ok(Found::Before(known));
        }
        let mut search = Search::default();
        // Each call would be as big as a search.
        let found = timeout(limit, Box::pin(self.look(&mut search))).await;
        found.unwrap_or_else(|_| Err(search.out_of_time(&self.place)))
    }

    /// Forgets a server that failed, if it is still the one that is kept, and closes its connections.
    pub(super) fn forget(&self, failed: &Current) {
        let mut kept = self.kept();
        if kept.as_ref().is_some_and(|known| Arc::ptr_eq(&known.node, &failed.node)) {
            *kept = None;
        }
        drop(kept);
        failed.node.let_go();
    }

    /// Closes the connections that are not in use.
    pub(super) fn let_go(&self) {
        if let Some(known) = &*self.kept() {
            known.node.let_go();
        }
    }

    async fn look(&self, search: &mut Search) -> Result<Found, BackendError> {
        let _looking = self.looking.lock().await;
        if let Some(known) = self.kept().clone() {
            return Ok(Found::Now(known));
        }
        let known = self.search(search).await?;
        *self.kept() = Some(known.clone());
        Ok(Found::Now(known))
    }

    /// Asks all Sentinels at once, and each server that one of them names: one that hangs costs nothing as long
    /// as most do not. While all hang, say on a master that is frozen, they are asked again: meanwhile they
    /// may have named another.
    ///
    /// An old master that has just come back, often together with a Sentinel of its host, takes itself for the
    /// master for a moment, and that Sentinel says so, too. So what most Sentinels say counts, where they answer.
    async fn search(&self, search: &mut Search) -> Result<Current, BackendError> {
        let most = self.sentinels.sentinels.len() / 2 + 1;
        let mut asking = JoinSet::new();
        self.ask_all(&mut asking);
        loop {
            let patience = if search.confirmed.is_empty() { ROUND } else { GRACE };
            match timeout(patience, asking.join_next()).await {
                Ok(Some(Ok(Step::Named(sentinel, host, port)))) => {
                    let server = self.server(host, port);
                    let address = shown(server.addr());
                    if search.named(sentinel, &address) == First::Yes {
                        let place = format!("redis master {:?} at {address}", self.sentinels.master);
                        asking.spawn(confirm(server, address, place));
                    }
                }
                Ok(Some(Ok(Step::Confirmed(address, known)))) => search.confirmed.push((address, known)),
                Ok(Some(Ok(Step::Refused(weight, error)))) => search.note(weight, error),
                // Only a panic of the driver's ends a question without a step.
                Ok(Some(Err(_))) => {}
                Ok(None) => return search.best(1).ok_or_else(|| search.in_vain(&self.place)),
                Err(_) => match search.best(1) {
                    Some(known) => return Ok(known),
                    None => self.ask_all(&mut asking),
                },
            }
            if let Some(known) = search.best(most) {
                return Ok(known);
            }
        }
    }

    fn ask_all(&self, asking: &mut JoinSet<Step>) {
        for (i, sentinel) in self.sentinels.sentinels.iter().enumerate() {
            asking.spawn(ask(i, sentinel.clone(), self.sentinels.master.clone()));
        }
    }

    fn server(&self, host: String, port: u16) -> ConnectionInfo {
        let template = self.sentinels.server.clone();
        let address = if let ConnectionAddr::TcpTls { insecure, tls_params, .. } = template.addr() {
            ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: tls_params.clone() }
        } else {
            ConnectionAddr::Tcp(host, port)
        };
        template.set_addr(address)
    }

    fn kept(&self) -> MutexGuard<'_, Option<Current>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What has come out so far.
#[derive(Default)]
struct Search {
    /// The addresses of servers that a Sentinel called the master.
    named: Vec<String>,
    /// The one that each Sentinel named last.
    votes: BTreeMap<usize, String>,
    /// The servers that say so themselves, with their addresses.
    confirmed: Vec<(String, Current)>,
    /// The error that says most.
    refused: Option<(Weight, BackendError)>,
}

/// How much an error says: of two, the later one is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// A Sentinel cannot be reached.
    Unreached,
    /// A Sentinel answered, and names nobody.
    Answered,
    /// A server that was named is no master, or does not let us in.
    Named,
}

/// Whether nobody has named a server before.
#[derive(PartialEq, Eq)]
enum First {
    Yes,
    No,
}

impl Search {
    fn named(&mut self, sentinel: usize, address: &str) -> First {
        self.votes.insert(sentinel, address.to_owned());
        if self.named.iter().any(|named| named == address) {
            return First::No;
        }
        self.named.push(address.to_owned());
        First::Yes
    }

    /// The master that most Sentinels name, if so many do; of two the one that was found first.
    fn best(&self, least: usize) -> Option<Current> {
        let votes = |address: &str| self.votes.values().filter(|named| *named == address).count();
        let voted = self.confirmed.iter().map(|(address, known)| (votes(address), known));
        let (votes, known) = voted.rev().max_by_key(|(votes, _)| *votes)?;
        (votes >= least).then(|| known.clone())
    }

    fn note(&mut self, weight: Weight, error: BackendError) {
        if self.refused.as_ref().is_none_or(|(known, _)| *known <= weight) {
            self.refused = Some((weight, error));
        }
    }

    /// The error for a search that all questions are answered of.
    fn in_vain(&mut self, place: &str) -> BackendError {
        self.refused.take().map_or_else(|| self.out_of_time(place), |(_, error)| error)
    }

    fn out_of_time(&self, place: &str) -> BackendError {
        let mut message = format!("{place} was not found in time");
        if !self.named.is_empty() {
            message += &format!("; they name {}", self.named.join(", "));
        }
        if let Some((_, error)) = &self.refused {
            message += &format!("; {error}");
        }
        BackendError::new(ErrorKind::Timeout, Outcome::NotApplied, message)
    }
}

/// What one question has brought.
enum Step {
    /// By which Sentinel, and where it is.
    Named(usize, String, u16),
    /// With its address.
    Confirmed(String, Current),
    Refused(Weight, BackendError),
}

async fn ask(number: usize, sentinel: ConnectionInfo, master: String) -> Step {
    let place = format!("sentinel at {}", shown(sentinel.addr()));
    let mut question = cmd("SENTINEL");
    question.arg("GET-MASTER-ADDR-BY-NAME").arg(&master);
    let answer = match node(sentinel) {
        Ok(node) => node.command(&question, ASKING).await,
        Err(error) => Err(Failure::NotConnected(error)),
    };
    match answer {
        Ok(answer) => match from_redis_value::<Option<(String, u16)>>(answer) {
            Ok(Some((host, port))) => Step::Named(number, host, port),
            Ok(None) => Step::Refused(Weight::Answered, unknown(&place, &master)),
            Err(error) => Step::Refused(Weight::Answered, meaning(&place, Failure::Failed(error.into()))),
        },
        Err(failure) => refused(&place, failure),
    }
}

fn unknown(place: &str, master: &str) -> BackendError {
    BackendError::config(format!(
        "{place} knows no master {master:?}: write the name that its `sentinel monitor` gives at the end of the URL"
    ))
}

/// A question changes nothing, whatever became of it.
fn refused(place: &str, failure: Failure) -> Step {
    let weight = if failure.is_answer() { Weight::Answered } else { Weight::Unreached };
    let error = meaning(place, failure);
    let (kind, message) = if error.kind() == ErrorKind::Unsupported {
        let message = format!(
            "{place} is no Sentinel: write the addresses of Sentinels, or redis://host:port for a server"
        );
        (ErrorKind::Config, message)
    } else if error.kind() == ErrorKind::Unauthorized {
        let message = format!("{error} (a Sentinel's are sentinel_user and sentinel_password in the URL)");
        (ErrorKind::Unauthorized, message)
    } else {
        (error.kind(), error.to_string())
    };
    let error = BackendError::new(kind, Outcome::NotApplied, message);
    Step::Refused(weight, error)
}

/// Asks a server that was named for its role: after a fail-over a Sentinel may be behind.
async fn confirm(server: ConnectionInfo, address: String, place: String) -> Step {
    let node = match node(server) {
        Ok(node) => Arc::new(node),
        Err(error) => return Step::Refused(Weight::Named, meaning(&place, Failure::NotConnected(error))),
    };
    let (kind, message) = match node.command(&cmd("ROLE"), ASKING).await {
        Ok(role) if is_master(&role) => return Step::Confirmed(address, Current { node, place }),
        Ok(_) => (ErrorKind::Unavailable, format!("{place} is a replica: a fail-over may be under way")),
        // Who may not ask learns it from the first call: a replica takes no writes.
        Err(Failure::Failed(error)) if error.kind() == redis::ErrorKind::Server(ServerErrorKind::NoPerm) => {
            return Step::Confirmed(address, Current { node, place });
        }
        Err(failure) => {
            let error = meaning(&place, failure);
            (error.kind(), error.to_string())
        }
    };
    Step::Refused(Weight::Named, BackendError::new(kind, Outcome::NotApplied, message))
}

fn is_master(role: &Value) -> bool {
    let Value::Array(parts) = role else { return false };
    let name = parts.first().and_then(|name| from_redis_value::<String>(name.clone()).ok());
    name.as_deref() == Some("master")
}

fn node(server: ConnectionInfo) -> Result<Node, RedisError> {
    Client::open(server).map(|client| Node::new(Source::Client(client)))
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo;

    use super::*;

    fn confirmed(address: &str) -> (String, Current) {
        let info = format!("redis://{address}/").into_connection_info().unwrap();
        (address.to_owned(), Current { node: Arc::new(node(info).unwrap()), place: address.to_owned() })
    }

    #[test]
    fn an_old_master_that_has_just_come_back_is_not_taken_for_the_one_that_most_name() {
        let mut search = Search::default();
        assert!(search.best(1).is_none());
        assert!(search.named(0, "old:1") == First::Yes);
        search.confirmed.push(confirmed("old:1"));
        assert!(search.best(2).is_none(), "the other two have not answered yet");
        assert_eq!(search.best(1).unwrap().place, "old:1", "nobody else does");
        assert!(search.named(1, "new:1") == First::Yes && search.named(2, "new:1") == First::No);
        assert!(search.best(2).is_none(), "it has not said so itself");
        search.confirmed.push(confirmed("new:1"));
        assert_eq!(search.best(2).unwrap().place, "new:1");
        // Asked again, a Sentinel has one voice as before.
        search.named(0, "new:1");
        assert!(search.best(4).is_none());
    }
}
