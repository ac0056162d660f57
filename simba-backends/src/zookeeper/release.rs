//! Releasing leases.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::{join, join_all};
use tokio::time::timeout;
use zookeeper_client::{Client, Error, MultiWriteError};

use super::{
    Shared, error,
    holdings::End,
    lease::to_its_end,
    live::{Live, Over},
    session::{PIPELINE, ROUNDS, absent, describe},
};
use crate::{BackendError, LeaseName, Release, SessionId, Token, clock::since_boot};

type Answers = Vec<(LeaseName, Release)>;

pub(super) async fn release(
    shared: &Arc<Shared>,
    session: &SessionId,
    leases: &[(LeaseName, Token)],
) -> Result<Answers, BackendError> {
    let Some(live) = shared.sessions.get(session) else {
        absent(shared, session).await?;
        return Ok(gone(leases));
    };
    let (shared, leases) = (Arc::clone(shared), leases.to_vec());
    to_its_end(async move {
        let _turn = live.releases.lock().await;
        let mut answers = Vec::with_capacity(leases.len());
        for leases in leases.chunks(PIPELINE) {
            live.lock().releasing.extend(leases.iter().map(|(name, _)| name.clone()));
            let freed = Freeing { shared: &shared, live: &live }.run(leases).await;
            live.lock().releasing.clear();
            answers.extend(freed.unwrap_or_else(|failure| failed(leases, &failure)));
        }
        Ok(answers)
    })
    .await
}

fn gone(leases: &[(LeaseName, Token)]) -> Answers {
    leases.iter().map(|(name, _)| (name.clone(), Release::Gone)).collect()
}

fn failed(leases: &[(LeaseName, Token)], failure: &BackendError) -> Answers {
    leases.iter().map(|(name, _)| (name.clone(), Release::Failed(failure.clone()))).collect()
}

/// A release of some leases, all at once.
struct Freeing<'a> {
    shared: &'a Shared,
    live: &'a Live,
}

/// A lease to delete.
type Own = (LeaseName, String);

impl Freeing<'_> {
    /// Deletes the nodes that are still these terms' own.
    ///
    /// ZooKeeper cannot delete on that condition. But the node of a live session goes only when somebody deletes it, and
    /// between the look and the delete nobody of ours does.
    ///
    /// A delete that is given up may still arrive: a server that stood still reads what was sent to it long after the
    /// session has gone on elsewhere, and the leader takes it as soon as that server also reads an attempt to reconnect
    /// (measured). By then the name may be another's. So each delete is sent together with a check that the session's own
    /// node still has a certain version, and after one that was given up that node is written anew before anything else.
    async fn run(&self, leases: &[(LeaseName, Token)]) -> Result<Answers, BackendError> {
        let (mut answers, mut left) = (BTreeMap::new(), leases.to_vec());
        for _ in 0..ROUNDS {
            let client = match self.live.connected(self.shared).await? {
                Ok(client) => client,
                Err(Over) => return Ok(gone(leases)),
            };
            let Some(fence) = self.fence(&client).await? else { return Ok(gone(leases)) };
            let own = self.look(&client, &left, &mut answers).await?;
            if self.live.is_over() {
                return Ok(gone(leases));
            }
            let again = self.delete(&client, fence, own, &mut answers).await;
            if again.is_empty() {
                return Ok(answers.into_iter().collect());
            }
            left.retain(|(name, _)| again.contains(name));
        }
        let vanishing = error::vanishing(&self.shared.paths.session(&self.live.id));
        answers.extend(failed(&left, &vanishing));
        Ok(answers.into_iter().collect())
    }

    /// The version of the session's node that no delete was sent with that may still arrive; nothing if it is over.
    async fn fence(&self, client: &Client) -> Result<Option<i32>, BackendError> {
        let (known, path) = (self.live.lock().fence, self.shared.paths.session(&self.live.id));
        if known.is_some() {
            return Ok(known);
        }
        for _ in 0..ROUNDS {
            let written = client.set_data(&path, self.live.metadata.as_str().as_bytes(), None);
            match self.shared.within(&path, written).await? {
                Ok(stat) => {
                    self.live.lock().fence = Some(stat.version);
                    return Ok(Some(stat.version));
                }
                Err(Error::NoNode) if self.live.is_over() => return Ok(None),
                Err(Error::NoNode) => describe(self.shared, self.live).await?,
                Err(Error::SessionExpired) => return Ok(None),
                Err(failure) => return Err(error::of(&self.shared.place, &path, failure)),
            }
        }
        Err(error::vanishing(&path))
    }

    /// Which of them are still these terms' own.
    async fn look(
        &self,
        client: &Client,
        leases: &[(LeaseName, Token)],
        answers: &mut BTreeMap<LeaseName, Release>,
    ) -> Result<Vec<Own>, BackendError> {
        let root = self.shared.paths.root();
        let paths: Vec<_> = leases.iter().map(|(name, _)| self.shared.paths.lease(name)).collect();
        let looks = join(client.sync(root), join_all(paths.iter().map(|path| client.check_stat(path))));
        let (synced, stats) = self.shared.within(root, looks).await?;
        synced.map_err(|failure| error::of(&self.shared.place, root, failure))?;
        let mut own = Vec::new();
        for (((name, token), path), stat) in leases.iter().zip(paths).zip(stats) {
            let answer = match stat {
                Ok(Some(stat))
                    if stat.ephemeral_owner == self.live.number && stat.czxid == token.as_i64() =>
                {
                    own.push((name.clone(), path));
                    continue;
                }
                Ok(_) => Release::Gone,
                Err(failure) => Release::Failed(error::of(&self.shared.place, &path, failure)),
            };
            answers.insert(name.clone(), answer);
        }
        Ok(own)
    }

    /// Deletes them; tells which to look at again, since the session's node has another version.
    async fn delete(
        &self,
        client: &Client,
        fence: i32,
        own: Vec<Own>,
        answers: &mut BTreeMap<LeaseName, Release>,
    ) -> Vec<LeaseName> {
        let limit = self.shared.call_timeout;
        own.iter().for_each(|(name, _)| self.live.lock().holdings.sent(name));
        let calls: Vec<_> = own.iter().map(|(_, path)| self.send(client, fence, path)).collect();
        let calls = calls.into_iter().map(|call| async move { timeout(limit, call).await.ok() });
        let deleted = join_all(calls).await;
        self.shared.listening.own_terms(own.iter().map(|(name, _)| name));
        let (mut state, mut again) = (self.live.lock(), Vec::new());
        for ((name, path), deleted) in own.into_iter().zip(deleted) {
            let failure = match deleted {
                Some(Ok(()) | Err(Refusal::Gone)) => {
                    state.holdings.ended(&name, End::NotHeld);
                    answers.insert(name, Release::Gone);
                    continue;
                }
                Some(Err(Refusal::Fenced)) => {
                    state.fence = state.fence.filter(|known| *known != fence);
                    state.holdings.ended(&name, End::GivenUp(since_boot()));
                    again.push(name);
                    continue;
                }
                Some(Err(Refusal::Other(failure))) => error::of(&self.shared.place, &path, failure),
                None => error::unanswered(&self.shared.place, &path),
            };
            state.fence = None;
            state.holdings.ended(&name, End::GivenUp(since_boot()));
            answers.insert(name, Release::Failed(failure));
        }
        again
    }

    fn send<'c>(
        &self,
        client: &'c Client,
        fence: i32,
        path: &str,
    ) -> impl Future<Output = Result<(), Refusal>> + Send + use<'c> {
        let session = self.shared.paths.session(&self.live.id);
        let mut calls = client.new_multi_writer();
        let added = calls.add_check_version(&session, fence).and_then(|()| calls.add_delete(path, None));
        let sent = added.map(|()| calls.commit());
        async move {
            match sent.map_err(Refusal::Other)?.await {
                Ok(_) => Ok(()),
                Err(refused) => Err(Refusal::of(refused)),
            }
        }
    }
}

/// Why a delete was not carried out.
enum Refusal {
    /// The session's node has another version.
    Fenced,
    /// There is nothing to delete, or the session has ended.
    Gone,
    Other(Error),
}

impl Refusal {
    fn of(refused: MultiWriteError) -> Self {
        match refused {
            MultiWriteError::OperationFailed { index: 0, source: Error::BadVersion | Error::NoNode } => {
                Self::Fenced
            }
            MultiWriteError::OperationFailed { index: 1, source: Error::NoNode } => Self::Gone,
            MultiWriteError::RequestFailed { source: Error::SessionExpired } => Self::Gone,
            MultiWriteError::OperationFailed { source, .. } | MultiWriteError::RequestFailed { source } => {
                Self::Other(source)
            }
        }
    }
}
