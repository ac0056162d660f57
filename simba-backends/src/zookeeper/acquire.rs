//! Acquiring leases.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::time::timeout;
use zookeeper_client::{Client, CreateMode, CreateSequence, Error, Stat};

use super::{
    Shared, error,
    holdings::End,
    lease::{owner, to_its_end, token},
    live::{Live, Over},
    parents,
    session::{PIPELINE, ROUNDS, absent},
};
use crate::{Acquired, Acquisition, BackendError, LeaseName, Outcome, SessionId, Token, clock::since_boot};

pub(super) async fn acquire(
    shared: &Arc<Shared>,
    session: &SessionId,
    names: &[LeaseName],
) -> Result<Acquired, BackendError> {
    let Some(live) = shared.sessions.get(session) else {
        return absent(shared, session).await.map(|()| Acquired::Expired);
    };
    // Before anything is sent: from then on the names are answered for one by one.
    if let Err(Over) = live.connected(shared).await? {
        return Ok(Acquired::Expired);
    }
    let (shared, names) = (Arc::clone(shared), names.to_vec());
    to_its_end(async move {
        let mut answers = Vec::with_capacity(names.len());
        for names in names.chunks(PIPELINE) {
            let mut attempt = Attempt { shared: &shared, live: &live, answers: BTreeMap::new() };
            match attempt.run(names).await {
                Ok(()) => answers.extend(attempt.answers),
                Err(Over) => return Ok(Acquired::Expired),
            }
        }
        Ok(Acquired::Answers(answers))
    })
    .await
}

/// An attempt of a session at some names, all at once.
struct Attempt<'a> {
    shared: &'a Shared,
    live: &'a Live,
    answers: BTreeMap<LeaseName, Acquisition>,
}

type Created = Result<(Stat, CreateSequence), Error>;

impl Attempt<'_> {
    /// Tries until each name is answered for: one that is neither made nor there was freed a moment ago, or lacks its
    /// parent.
    async fn run(&mut self, names: &[LeaseName]) -> Result<(), Over> {
        let mut left = self.sort_out(names);
        for _ in 0..ROUNDS {
            if left.is_empty() {
                return Ok(());
            }
            let client = match self.live.connected(self.shared).await {
                Ok(client) => client?,
                Err(failure) => {
                    self.fail(left, &failure);
                    return Ok(());
                }
            };
            left = self.round(&client, left).await?;
        }
        self.fail(left, &error::vanishing(&self.shared.paths.leases()));
        Ok(())
    }

    /// Answers for those that somebody else was seen to take since who asks was told that they are free, and tells
    /// which are left to be tried.
    fn sort_out(&mut self, names: &[LeaseName]) -> Vec<LeaseName> {
        let mut taken = self.shared.listening.just_taken(names);
        if !taken.is_empty() {
            let state = self.live.lock();
            taken.retain(|name| !state.holdings.is_possible(name));
        }
        let held = taken.iter().map(|name| ((*name).clone(), Acquisition::Held { free_in: None }));
        self.answers.extend(held);
        names.iter().filter(|name| !taken.contains(name)).cloned().collect()
    }

    /// Tries each name once, and tells which are to be tried again.
    async fn round(&mut self, client: &Client, names: Vec<LeaseName>) -> Result<Vec<LeaseName>, Over> {
        let sent = since_boot();
        let created = self.create(client, &names).await;
        if self.live.is_over() {
            return Err(Over);
        }
        let (mut held, mut orphaned) = (Vec::new(), Vec::new());
        for (name, created) in names.into_iter().zip(created) {
            match created {
                Some(Ok((stat, _))) => self.granted(name, sent, &stat),
                Some(Err(Error::NodeExists)) => held.push(name),
                Some(Err(Error::NoNode)) => orphaned.push(name),
                Some(Err(failure)) => {
                    let failure = error::of(&self.shared.place, &self.shared.paths.lease(&name), failure);
                    self.answers.insert(name, Acquisition::Failed(failure));
                }
                None => {
                    let failure = error::unanswered(&self.shared.place, &self.shared.paths.lease(&name));
                    self.answers.insert(name, Acquisition::Failed(failure));
                }
            }
        }
        let mut again = self.find_holders(client, held, sent).await;
        if !orphaned.is_empty() {
            match parents::make(self.shared, client, &self.shared.paths.leases()).await {
                Ok(()) => again.extend(orphaned),
                Err(failure) => self.fail(orphaned, &failure),
            }
        }
        Ok(again)
    }

    fn fail(&mut self, names: Vec<LeaseName>, failure: &BackendError) {
        let failed = names.into_iter().map(|name| (name, Acquisition::Failed(failure.clone())));
        self.answers.extend(failed);
    }

    /// Makes the node of each name; nothing for those that were not answered.
    async fn create(&self, client: &Client, names: &[LeaseName]) -> Vec<Option<Created>> {
        let paths: Vec<_> = names.iter().map(|name| self.shared.paths.lease(name)).collect();
        let calls = loop {
            {
                let mut state = self.live.lock();
                if names.iter().all(|name| !state.releasing.contains(name)) {
                    names.iter().for_each(|name| state.holdings.sent(name));
                    // Sent while nobody can begin to release one of them.
                    break paths.iter().map(|path| self.send(client, path)).collect::<Vec<_>>();
                }
            }
            drop(self.live.releases.lock().await);
        };
        let limit = self.shared.call_timeout;
        let calls = calls.into_iter().map(|call| async move { timeout(limit, call).await.ok() });
        let created = join_all(calls).await;
        let granted = names.iter().zip(&created).filter(|(_, created)| matches!(created, Some(Ok(_))));
        self.shared.listening.own_terms(granted.map(|(name, _)| name));
        let mut state = self.live.lock();
        for (name, created) in names.iter().zip(&created) {
            state.holdings.ended(name, end(created.as_ref()));
        }
        created
    }

    fn send<'c>(&self, client: &'c Client, path: &'c str) -> impl Future<Output = Created> + Send + 'c {
        let holder = self.live.id.as_str().as_bytes();
        let ensemble = &self.shared.ensemble;
        ensemble.with_options(path, CreateMode::Ephemeral, |options| client.create(path, holder, options))
    }

    fn granted(&mut self, name: LeaseName, sent: Duration, stat: &Stat) {
        let remaining = self.live.remaining(sent, self.live.timeout);
        let answer = match token(&self.shared.paths.lease(&name), stat) {
            Ok(token) => Acquisition::Granted { token, remaining },
            Err(error) => Acquisition::Failed(error),
        };
        self.answers.insert(name, answer);
    }

    /// Answers for those that somebody holds, as a call that was sent then has found, and tells which are free again.
    async fn find_holders(
        &mut self,
        client: &Client,
        names: Vec<LeaseName>,
        sent: Duration,
    ) -> Vec<LeaseName> {
        let asked = since_boot();
        let paths: Vec<_> = names.iter().map(|name| self.shared.paths.lease(name)).collect();
        // As new as the refusals: this connection has brought them before.
        let looks = join_all(paths.iter().map(|path| client.get_data(path)));
        let looks = match self.shared.within(&self.shared.paths.leases(), looks).await {
            Ok(looks) => looks,
            Err(failure) => {
                // Perhaps we hold them, which the next keep-alive tells.
                self.fail(names, &failure);
                return Vec::new();
            }
        };
        let mut again = Vec::new();
        for ((name, path), look) in names.into_iter().zip(&paths).zip(looks) {
            let answer = match look {
                Ok((data, stat)) => self.held(&name, path, &data, &stat, (sent, asked)),
                Err(Error::NoNode) => {
                    again.push(name);
                    continue;
                }
                Err(failure) => Err(error::of(&self.shared.place, path, failure)),
            };
            self.answers.insert(name, answer.unwrap_or_else(Acquisition::Failed));
        }
        again
    }

    fn held(
        &self,
        name: &LeaseName,
        path: &str,
        data: &[u8],
        stat: &Stat,
        (sent, asked): (Duration, Duration),
    ) -> Result<Acquisition, BackendError> {
        if stat.ephemeral_owner != self.live.number {
            self.live.lock().holdings.missed(name, asked);
            return owner(path, data, stat).map(|_| Acquisition::Held { free_in: None });
        }
        let token = token(path, stat)?;
        self.live.lock().holdings.found(name, token, asked);
        Ok(Acquisition::AlreadyOwned { token, remaining: self.live.remaining(sent, self.live.timeout) })
    }
}

/// What an attempt says of its name.
fn end(created: Option<&Created>) -> End {
    let given_up = End::GivenUp(since_boot());
    match created {
        Some(Ok((stat, _))) => {
            u64::try_from(stat.czxid).ok().and_then(Token::new).map_or(given_up, End::Held)
        }
        // Somebody holds it, perhaps we.
        Some(Err(Error::NodeExists)) | None => given_up,
        Some(Err(failure)) => match error::outcome(failure) {
            Outcome::NotApplied => End::NotHeld,
            Outcome::Unknown => given_up,
        },
    }
}
