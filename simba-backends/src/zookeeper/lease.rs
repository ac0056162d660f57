//! Leases: who holds one, and what their nodes say.

use std::sync::Arc;

use futures_util::future::{join, join_all};
use zookeeper_client::{Client, Error, Stat};

use super::{Shared, error, paths, session::PIPELINE};
use crate::{BackendError, Holder, LeaseName, Metadata, SessionId, Token};

pub(super) async fn inspect(shared: &Arc<Shared>, name: &LeaseName) -> Result<Option<Holder>, BackendError> {
    let path = shared.paths.lease(name);
    let client = shared.client().await?;
    let looks = (client.sync(&path), client.get_data(&path));
    let (synced, found) = shared.within(&path, join(looks.0, looks.1)).await?;
    let (data, stat) = match synced.and(found) {
        Ok(found) => found,
        Err(Error::NoNode) => return Ok(None),
        Err(failure) => return Err(error::of(&shared.place, &path, failure)),
    };
    let session = owner(&path, &data, &stat)?;
    let token = token(&path, &stat)?;
    let metadata = described(shared, &client, std::slice::from_ref(&session)).await?.remove(0);
    Ok(Some(Holder { session, metadata, token, free_in: None }))
}

/// What each of these sessions says about its process; nodes of other makers say nothing.
pub(super) async fn described(
    shared: &Shared,
    client: &Client,
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

/// Whose lease that node is.
pub(super) fn owner(path: &str, data: &[u8], stat: &Stat) -> Result<SessionId, BackendError> {
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

/// The token of the term whose node that is.
pub(super) fn token(path: &str, stat: &Stat) -> Result<Token, BackendError> {
    let token = u64::try_from(stat.czxid).ok().and_then(Token::new);
    token.ok_or_else(|| error::foreign(path, "was made in no transaction of ZooKeeper"))
}

/// Runs a call to its end also where nobody waits for it any more: what was sent takes effect, and has to be known of.
pub(super) async fn to_its_end<T: Send + 'static>(
    call: impl Future<Output = Result<T, BackendError>> + Send + 'static,
) -> Result<T, BackendError> {
    let ended = tokio::spawn(call).await;
    ended.unwrap_or_else(|lost| Err(BackendError::timeout(format!("a call was lost: {lost}"))))
}
