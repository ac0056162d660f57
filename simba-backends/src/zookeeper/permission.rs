//! Whether we may do all that Simba does, tried out without leaving a trace.

use zookeeper_client::{Acl, AuthId, Client, CreateMode, Error, MultiWriteError, Permission};

use super::{Shared, error, parents, paths::id_of};
use crate::{BackendError, Outcome};

/// Makes the parents, and looks whether nodes may be made and deleted in them. Tells in which everybody may.
pub(super) async fn check(shared: &Shared, client: &Client) -> Result<Vec<String>, BackendError> {
    let root = shared.paths.root();
    let listed = shared.within(root, client.list_ephemerals(root)).await?;
    listed.map_err(|failure| error::of(&shared.place, root, failure))?;
    let mut open = Vec::new();
    for parent in [shared.paths.leases(), shared.paths.sessions(), shared.paths.groups()] {
        let found = shared.within(&parent, client.check_stat(&parent)).await?;
        match found.map_err(|failure| error::of(&shared.place, &parent, failure))? {
            Some(stat) if stat.ephemeral_owner != 0 => {
                return Err(error::foreign(&parent, "is an ephemeral node"));
            }
            Some(_) => {}
            None => parents::make(shared, client, &parent).await.map_err(not_applied)?,
        }
        try_out(shared, client, &parent).await.map_err(not_applied)?;
        if is_open(shared, client, &parent).await? {
            open.push(parent);
        }
    }
    Ok(open)
}

/// Whether everybody may make or delete the nodes in it. Who may not read its ACL is told nothing.
async fn is_open(shared: &Shared, client: &Client, parent: &str) -> Result<bool, BackendError> {
    let read = shared.within(parent, client.get_acl(parent)).await?;
    let may_change = |acl: &Acl| {
        let granted = acl.permission();
        *acl.auth_id() == AuthId::anyone()
            && (granted.has(Permission::CREATE) || granted.has(Permission::DELETE))
    };
    match read {
        Ok((acls, _)) => Ok(acls.iter().any(may_change)),
        Err(Error::NoAuth) => Ok(false),
        Err(failure) => Err(error::of(&shared.place, parent, failure)),
    }
}

/// Makes a node there and deletes it, in a transaction that cannot succeed: its last part is about a version that no
/// node has.
async fn try_out(shared: &Shared, client: &Client, parent: &str) -> Result<(), BackendError> {
    // No name of a lease.
    let path = format!("{parent}/trial@{}", id_of(client.session_id()));
    let unusable = |failure| error::of(&shared.place, &path, failure);
    let mut trial = client.new_multi_writer();
    shared
        .ensemble
        .with_options(&path, CreateMode::Ephemeral, |options| trial.add_create(&path, b"", options))
        .map_err(unusable)?;
    trial.add_delete(&path, None).map_err(unusable)?;
    trial.add_check_version(parent, i32::MAX).map_err(unusable)?;
    match shared.within(parent, trial.commit()).await? {
        Ok(_) | Err(MultiWriteError::OperationFailed { index: 2, .. }) => Ok(()),
        Err(MultiWriteError::OperationFailed { source: Error::NoAuth, .. }) => {
            Err(error::of(&shared.place, parent, Error::NoAuth))
        }
        Err(failure) => Err(unusable(failure.into())),
    }
}

/// Whatever became of the trial: it was about nobody's session.
fn not_applied(error: BackendError) -> BackendError {
    error.with_outcome(Outcome::NotApplied)
}
