//! Groups: join, leave, members.

use std::sync::Arc;

use futures_util::future::join as both;
use zookeeper_client::Error;

use super::{
    Shared, error,
    lease::{described, to_its_end},
    live::Over,
    paths,
    session::{Made, absent, make},
};
use crate::{BackendError, GroupName, Joined, Member, SessionId};

pub(super) async fn join(
    shared: &Arc<Shared>,
    session: &SessionId,
    group: &GroupName,
) -> Result<Joined, BackendError> {
    let Some(live) = shared.sessions.get(session) else {
        return absent(shared, session).await.map(|()| Joined::Expired);
    };
    let (shared, group) = (Arc::clone(shared), group.clone());
    to_its_end(async move {
        let client = match live.connected(&shared).await? {
            Ok(client) => client,
            Err(Over) => return Ok(Joined::Expired),
        };
        let (path, parent) = (shared.paths.member(&group, &live.id), shared.paths.group(&group));
        let made = make(&shared, &client, &path, &parent, live.id.as_str().as_bytes()).await;
        if live.is_over() {
            return Ok(Joined::Expired);
        }
        match made? {
            Made::New => return Ok(Joined::Member),
            Made::There => {}
        }
        match shared.within(&path, client.check_stat(&path)).await? {
            Ok(Some(stat)) if stat.ephemeral_owner == live.number => Ok(Joined::Member),
            Ok(Some(_)) => Err(error::foreign(&path, "has the name of a session that has not made it")),
            Ok(None) => Err(error::vanishing(&path)),
            Err(failure) => Err(error::of(&shared.place, &path, failure)),
        }
    })
    .await
}

pub(super) async fn leave(
    shared: &Arc<Shared>,
    session: &SessionId,
    group: &GroupName,
) -> Result<(), BackendError> {
    let Some(live) = shared.sessions.get(session) else { return absent(shared, session).await };
    let client = match live.connected(shared).await? {
        Ok(client) => client,
        Err(Over) => return Ok(()),
    };
    let path = shared.paths.member(group, session);
    match shared.within(&path, client.delete(&path, None)).await? {
        Ok(()) | Err(Error::NoNode | Error::SessionExpired) => Ok(()),
        Err(failure) => Err(error::of(&shared.place, &path, failure)),
    }
}

pub(super) async fn members(shared: &Arc<Shared>, group: &GroupName) -> Result<Vec<Member>, BackendError> {
    let path = shared.paths.group(group);
    let client = shared.client().await?;
    let looks = (client.sync(&path), client.list_children(&path));
    let (synced, listed) = shared.within(&path, both(looks.0, looks.1)).await?;
    let listed = match synced.and(listed) {
        Ok(listed) => listed,
        Err(Error::NoNode) => Vec::new(),
        Err(failure) => return Err(error::of(&shared.place, &path, failure)),
    };
    let mut sessions: Vec<_> = listed.iter().filter_map(|child| paths::id(child)).collect();
    sessions.sort();
    let described = described(shared, &client, &sessions).await?;
    let members = sessions.into_iter().zip(described);
    Ok(members.map(|(session, metadata)| Member { session, metadata }).collect())
}
