//! The nodes that others are in, made where they are missing: at first, and when somebody removes them.

use zookeeper_client::{Client, CreateMode, Error};

use super::{Shared, error};
use crate::BackendError;

/// How many steps it may take while somebody removes them again.
const ROUNDS: u32 = 60;

/// Makes the node at that path and all above it, where they are missing.
pub(super) async fn make(shared: &Shared, client: &Client, path: &str) -> Result<(), BackendError> {
    let steps: Vec<_> = above(path).collect();
    let mut at = steps.len() - 1;
    // Never from the top: to make what is there already may not be allowed.
    for _ in 0..ROUNDS {
        let path = steps[at];
        let mode =
            if shared.paths.is_container(path) { CreateMode::Container } else { CreateMode::Persistent };
        let made = shared.ensemble.with_options(path, mode, |options| client.create(path, b"", options));
        match shared.within(path, made).await? {
            Ok(_) | Err(Error::NodeExists) if at + 1 == steps.len() => return Ok(()),
            Ok(_) | Err(Error::NodeExists) => at += 1,
            Err(Error::NoNode) if at > 0 => at -= 1,
            Err(failure) => return Err(error::of(&shared.place, path, failure)),
        }
    }
    Err(error::vanishing(path))
}

/// Each node on the way to a path, the path itself last.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').skip(1).map(|(at, _)| &path[..at]).chain([path])
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_way_to_a_path_begins_at_the_top() {
        assert_eq!(super::above("/a/bc/d").collect::<Vec<_>>(), ["/a", "/a/bc", "/a/bc/d"]);
        assert_eq!(super::above("/a").collect::<Vec<_>>(), ["/a"]);
    }
}
