//! Leases: acquire, release, inspect.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::{join, join_all};
use zookeeper_client::{CreateMode, Error, Stat};

use super::{
    Shared, error,
    holdings::End,
    live::{Live, Over},
    parents, paths, reader,
    session::{PIPELINE, ROUNDS, absent, token},
};
use crate::{
    Acquired, Acquisition, BackendError, Holder, LeaseName, Metadata, Outcome, Release, SessionId, Token,
    clock::since_boot,
};

pub(super) async fn acquire(
    shared: &Arc<Shared>,
    session: &SessionId,
    names: &[LeaseName],
) -> Result<Acquired, BackendError> {
    let Some(live) = shared.sessions.get(session) else {
        return absent(shared, session).await.map(|()| Acquired::Expired);
    };
    let (shared, names) = (Arc::clone(shared), names.to_vec());
    to_its_end(async move {
        let mut answers = Vec::with_capacity(names.len());
        for names in names.chunks(PIPELINE) {
            match (Attempt { shared: &shared, live: &live }).answers(names).await? {
                Ok(more) => answers.extend(more),
                Err(Over) => return Ok(Acquired::Expired),
            }
        }
        Ok(Acquired::Answers(answers))
    })
    .await
}

/// Runs a call to its end also where nobody waits for it any more: what was sent takes effect, and has to be known of.
pub(super) async fn to_its_end<T: Send + 'static>(
    call: impl Future<Output = Result<T, BackendError>> + Send + 'static,
) -> Result<T, BackendError> {
    let ended = tokio::spawn(call).await;
    ended.unwrap_or_else(|lost| Err(BackendError::timeout(format!("a call was lost: {lost}"))))
}

/// An attempt of a session at some names, all at once.
struct Attempt<'a> {
    shared: &'a Shared,
    live: &'a Live,
}

type Answers = Vec<(LeaseName, Acquisition)>;
type Created = Result<(Stat, zookeeper_client::CreateSequence), Error>;

impl Attempt<'_> {
    async fn answers(&self, names: &[LeaseName]) -> Result<Result<Answers, Over>, BackendError> {
        let (mut answers, mut left) = self.sort_out(names);
        for _ in 0..ROUNDS {
            let client = match self.live.connected(self.shared).await? {
                Ok(client) => client,
                Err(Over) => return Ok(Err(Over)),
            };
            if left.is_empty() {
                return Ok(Ok(answers));
            }
            let sent = since_boot();
            let created = self.create(&client, &left).await;
            if self.live.is_over() {
                return Ok(Err(Over));
            }
            let (mut again, mut held, mut is_orphaned) = (Vec::new(), Vec::new(), false);
            for (name, created) in created {
                match created {
                    Some(Ok((stat, _))) => {
                        answers.push((name.clone(), self.granted(&name, sent, stat.czxid)))
                    }
                    Some(Err(Error::NodeExists)) => held.push(name),
                    Some(Err(Error::NoNode)) => {
                        is_orphaned = true;
                        again.push(name);
                    }
                    other => answers.push((name.clone(), Acquisition::Failed(self.failure(&name, other)))),
                }
            }
            for (name, answer) in self.holders(&client, held).await {
                match answer {
                    Some(answer) => answers.push((name, answer)),
                    None => again.push(name),
                }
            }
            if is_orphaned {
                parents::make(self.shared, &client, &self.shared.paths.leases()).await?;
            }
            left = again;
        }
        let vanishing = left.into_iter().map(|name| {
            let failed = error::vanishing(&self.shared.paths.lease(&name));
            (name, Acquisition::Failed(failed))
        });
        answers.extend(vanishing);
        Ok(Ok(answers))
    }

    /// The answers that need no call, and the names that do: who was told that a lease is free need not try it when
    /// somebody else has been seen to take it since.
    fn sort_out(&self, names: &[LeaseName]) -> (Answers, Vec<LeaseName>) {
        let mut taken = self.shared.listening.just_taken(names);
        if !taken.is_empty() {
            let state = self.live.lock();
            taken.retain(|name| !state.holdings.is_possible(name));
        }
        let (taken, left): (Vec<_>, Vec<_>) = names.iter().partition(|name| taken.contains(name));
        let held = |name: &LeaseName| (name.clone(), Acquisition::Held { free_in: None });
        (taken.into_iter().map(held).collect(), left.into_iter().cloned().collect())
    }

    /// Makes the node of each name; nothing for those that were not answered.
    async fn create(
        &self,
        client: &zookeeper_client::Client,
        names: &[LeaseName],
    ) -> Vec<(LeaseName, Option<Created>)> {
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
        let calls = calls.into_iter().map(|call| async move { tokio::time::timeout(limit, call).await.ok() });
        let created = join_all(calls).await;
        let granted = names.iter().zip(&created).filter(|(_, created)| matches!(created, Some(Ok(_))));
        self.shared.listening.own_terms(granted.map(|(name, _)| name));
        let mut state = self.live.lock();
        for (name, created) in names.iter().zip(&created) {
            state.holdings.ended(name, end(created.as_ref()));
        }
        names.iter().cloned().zip(created).collect()
    }

    fn send<'c>(
        &self,
        client: &'c zookeeper_client::Client,
        path: &'c str,
    ) -> impl Future<Output = Created> + Send + 'c {
        let owner = self.live.id.as_str().as_bytes();
        self.shared
            .ensemble
            .with_options(path, CreateMode::Ephemeral, |options| client.create(path, owner, options))
    }

    fn granted(&self, name: &LeaseName, sent: std::time::Duration, czxid: i64) -> Acquisition {
        match token(&self.shared.paths.lease(name), czxid) {
            Ok(token) => {
                Acquisition::Granted { token, remaining: self.live.remaining(sent, self.live.timeout) }
            }
            Err(error) => Acquisition::Failed(error),
        }
    }

    fn failure(&self, name: &LeaseName, created: Option<Created>) -> BackendError {
        let path = self.shared.paths.lease(name);
        match created {
            Some(Err(failure)) => error::of(&self.shared.place, &path, failure),
            Some(Ok(_)) | None => error::unanswered(&self.shared.place, &path),
        }
    }

    /// Who holds each of them; nothing for those that are free again.
    async fn holders(
        &self,
        client: &zookeeper_client::Client,
        names: Vec<LeaseName>,
    ) -> Vec<(LeaseName, Option<Acquisition>)> {
        let sent = since_boot();
        let paths: Vec<_> = names.iter().map(|name| self.shared.paths.lease(name)).collect();
        let looks = join_all(paths.iter().map(|path| client.get_data(path)));
        let looks = match self.shared.within(&self.shared.paths.leases(), looks).await {
            Ok(looks) => looks,
            Err(failure) => {
                // Somebody holds them, nobody says who: perhaps we, which the next keep-alive tells.
                return names
                    .into_iter()
                    .map(|name| (name, Some(Acquisition::Failed(failure.clone()))))
                    .collect();
            }
        };
        let seen = names.into_iter().zip(&paths).zip(looks);
        seen.map(|((name, path), look)| {
            let answer = match look {
                Ok((data, stat)) => Some(self.held(&name, path, sent, &data, &stat)),
                Err(Error::NoNode) => None,
                Err(failure) => Some(Acquisition::Failed(error::of(&self.shared.place, path, failure))),
            };
            (name, answer)
        })
        .collect()
    }

    fn held(
        &self,
        name: &LeaseName,
        path: &str,
        sent: std::time::Duration,
        data: &[u8],
        stat: &Stat,
    ) -> Acquisition {
        if stat.ephemeral_owner == self.live.number {
            return match token(path, stat.czxid) {
                Ok(token) => {
                    self.live.lock().holdings.found(name, token, sent);
                    Acquisition::AlreadyOwned {
                        token,
                        remaining: self.live.remaining(sent, self.live.timeout),
                    }
                }
                Err(error) => Acquisition::Failed(error),
            };
        }
        match owner(path, data, stat) {
            Ok(_) => Acquisition::Held { free_in: None },
            Err(error) => Acquisition::Failed(error),
        }
    }
}

/// What an attempt says of its name.
fn end(created: Option<&Created>) -> End {
    match created {
        Some(Ok((stat, _))) => match u64::try_from(stat.czxid).ok().and_then(Token::new) {
            Some(token) => End::Held(token),
            None => End::GivenUp(since_boot()),
        },
        // Somebody holds it, perhaps we.
        Some(Err(Error::NodeExists)) | None => End::GivenUp(since_boot()),
        Some(Err(failure)) => match error::of("", "", failure.clone()).outcome() {
            Outcome::NotApplied => End::NotHeld,
            Outcome::Unknown => End::GivenUp(since_boot()),
        },
    }
}

/// Whose lease that node is.
fn owner(path: &str, data: &[u8], stat: &Stat) -> Result<SessionId, BackendError> {
    if stat.ephemeral_owner == 0 {
        return Err(error::foreign(path, "belongs to no session"));
    }
    let owner = paths::id_of(zookeeper_client::SessionId(stat.ephemeral_owner));
    if data == owner.as_str().as_bytes() {
        Ok(owner)
    } else {
        Err(error::foreign(path, "holds other data than its owner's id"))
    }
}

pub(super) async fn release(
    shared: &Arc<Shared>,
    session: &SessionId,
    leases: &[(LeaseName, Token)],
) -> Result<Vec<(LeaseName, Release)>, BackendError> {
    let Some(live) = shared.sessions.get(session) else {
        absent(shared, session).await?;
        return Ok(gone(leases));
    };
    let (shared, leases) = (Arc::clone(shared), leases.to_vec());
    to_its_end(async move {
        let _turn = live.releases.lock().await;
        let mut answers = Vec::with_capacity(leases.len());
        for leases in leases.chunks(PIPELINE) {
            let names = leases.iter().map(|(name, _)| name.clone());
            live.lock().releasing.extend(names);
            let released = Freeing { shared: &shared, live: &live }.run(leases).await;
            live.lock().releasing.clear();
            answers.extend(released?);
        }
        Ok(answers)
    })
    .await
}

fn gone(leases: &[(LeaseName, Token)]) -> Vec<(LeaseName, Release)> {
    leases.iter().map(|(name, _)| (name.clone(), Release::Gone)).collect()
}

/// A release of some leases, all at once.
struct Freeing<'a> {
    shared: &'a Shared,
    live: &'a Live,
}

impl Freeing<'_> {
    /// Deletes the nodes that are still these terms' own.
    ///
    /// ZooKeeper cannot delete on that condition. But a node of a live session goes only if somebody deletes it, and
    /// between the look and the delete that is nobody of ours.
    async fn run(&self, leases: &[(LeaseName, Token)]) -> Result<Vec<(LeaseName, Release)>, BackendError> {
        let client = match self.live.connected(self.shared).await? {
            Ok(client) => client,
            Err(Over) => return Ok(gone(leases)),
        };
        let root = self.shared.paths.root();
        let paths: Vec<_> = leases.iter().map(|(name, _)| self.shared.paths.lease(name)).collect();
        let looks = (client.sync(root), join_all(paths.iter().map(|path| client.check_stat(path))));
        let (synced, stats) = self.shared.within(root, join(looks.0, looks.1)).await?;
        if self.live.is_over() {
            return Ok(gone(leases));
        }
        synced.map_err(|failure| error::of(&self.shared.place, root, failure))?;
        let mut answers = BTreeMap::new();
        let mut own = Vec::new();
        for (((name, token), path), stat) in leases.iter().zip(&paths).zip(stats) {
            match stat {
                Ok(Some(stat)) if self.is_term(*token, &stat) => own.push((name, path)),
                Ok(_) => {
                    answers.insert(name.clone(), Release::Gone);
                }
                Err(failure) => {
                    answers
                        .insert(name.clone(), Release::Failed(error::of(&self.shared.place, path, failure)));
                }
            }
        }
        for (name, answer) in self.delete(&client, &own).await {
            answers.insert(name, answer);
        }
        Ok(answers.into_iter().collect())
    }

    fn is_term(&self, token: Token, stat: &Stat) -> bool {
        stat.ephemeral_owner == self.live.number && stat.czxid == token.as_i64()
    }

    async fn delete(
        &self,
        client: &zookeeper_client::Client,
        own: &[(&LeaseName, &String)],
    ) -> Vec<(LeaseName, Release)> {
        let limit = self.shared.call_timeout;
        own.iter().for_each(|(name, _)| self.live.lock().holdings.sent(name));
        let calls: Vec<_> = own.iter().map(|(_, path)| client.delete(path, None)).collect();
        let calls = calls.into_iter().map(|call| async move { tokio::time::timeout(limit, call).await.ok() });
        let deleted = join_all(calls).await;
        self.shared.listening.own_terms(own.iter().map(|(name, _)| *name));
        let mut state = self.live.lock();
        let answers = own.iter().zip(deleted).map(|((name, path), deleted)| {
            let answer = match deleted {
                Some(Ok(()) | Err(Error::NoNode | Error::SessionExpired)) => Release::Gone,
                Some(Err(failure)) => Release::Failed(error::of(&self.shared.place, path, failure)),
                None => Release::Failed(error::unanswered(&self.shared.place, path)),
            };
            let end = match &answer {
                Release::Gone => End::NotHeld,
                Release::Failed(_) => End::GivenUp(since_boot()),
            };
            state.holdings.ended(name, end);
            ((*name).clone(), answer)
        });
        answers.collect()
    }
}

pub(super) async fn inspect(shared: &Arc<Shared>, name: &LeaseName) -> Result<Option<Holder>, BackendError> {
    let path = shared.paths.lease(name);
    let client = reader::client(shared).await?;
    let looks = (client.sync(&path), client.get_data(&path));
    let (synced, found) = shared.within(&path, join(looks.0, looks.1)).await?;
    let (data, stat) = match synced.and(found) {
        Ok(found) => found,
        Err(Error::NoNode) => return Ok(None),
        Err(failure) => return Err(error::of(&shared.place, &path, failure)),
    };
    let session = owner(&path, &data, &stat)?;
    let token = token(&path, stat.czxid)?;
    let metadata = described(shared, &client, std::slice::from_ref(&session)).await?.remove(0);
    Ok(Some(Holder { session, metadata, token, free_in: None }))
}

/// What each of these sessions says about its process; nodes of other makers say nothing.
pub(super) async fn described(
    shared: &Shared,
    client: &zookeeper_client::Client,
    sessions: &[SessionId],
) -> Result<Vec<Metadata>, BackendError> {
    let mut all = Vec::with_capacity(sessions.len());
    for sessions in sessions.chunks(PIPELINE) {
        let paths: Vec<_> = sessions.iter().map(|session| shared.paths.session(session)).collect();
        let looks = join_all(paths.iter().map(|path| client.get_data(path)));
        for (path, look) in paths.iter().zip(shared.within(&shared.paths.sessions(), looks).await?) {
            all.push(match look {
                Ok((data, _)) => {
                    let text = String::from_utf8(data).ok().and_then(|text| text.parse().ok());
                    text.ok_or_else(|| error::foreign(path, "holds no metadata"))?
                }
                Err(Error::NoNode) => Metadata::default(),
                Err(failure) => return Err(error::of(&shared.place, path, failure)),
            });
        }
    }
    Ok(all)
}
