//! Releasing leases.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::{join, join_all};
use tokio::time::timeout;
use zookeeper_client::{Client, Error};

use super::{
    Shared, error,
    holdings::End,
    lease::to_its_end,
    live::{Live, Over},
    session::{PIPELINE, absent},
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

impl Freeing<'_> {
    /// Deletes the nodes that are still these terms' own.
    ///
    /// ZooKeeper cannot delete on that condition. But the node of a live session goes only when somebody deletes it, and
    /// between the look and the delete nobody of ours does.
    async fn run(&self, leases: &[(LeaseName, Token)]) -> Result<Answers, BackendError> {
        let client = match self.live.connected(self.shared).await? {
            Ok(client) => client,
            Err(Over) => return Ok(gone(leases)),
        };
        let root = self.shared.paths.root();
        let paths: Vec<_> = leases.iter().map(|(name, _)| self.shared.paths.lease(name)).collect();
        let looks = join(client.sync(root), join_all(paths.iter().map(|path| client.check_stat(path))));
        let (synced, stats) = self.shared.within(root, looks).await?;
        if self.live.is_over() {
            return Ok(gone(leases));
        }
        synced.map_err(|failure| error::of(&self.shared.place, root, failure))?;
        let (mut answers, mut own) = (BTreeMap::new(), Vec::new());
        for (((name, token), path), stat) in leases.iter().zip(&paths).zip(stats) {
            match stat {
                Ok(Some(stat))
                    if stat.ephemeral_owner == self.live.number && stat.czxid == token.as_i64() =>
                {
                    own.push((name, path));
                }
                Ok(_) => {
                    answers.insert(name.clone(), Release::Gone);
                }
                Err(failure) => {
                    let failure = error::of(&self.shared.place, path, failure);
                    answers.insert(name.clone(), Release::Failed(failure));
                }
            }
        }
        answers.extend(self.delete(&client, &own).await);
        Ok(answers.into_iter().collect())
    }

    async fn delete(&self, client: &Client, own: &[(&LeaseName, &String)]) -> Answers {
        let limit = self.shared.call_timeout;
        own.iter().for_each(|(name, _)| self.live.lock().holdings.sent(name));
        let calls: Vec<_> = own.iter().map(|(_, path)| client.delete(path, None)).collect();
        let calls = calls.into_iter().map(|call| async move { timeout(limit, call).await.ok() });
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
