//! Choosing a storage by URL.

use std::sync::Arc;

use crate::{BackendError, LeaseBackend, memory::MemoryBackend};

/// Every scheme and the cargo feature behind it.
const SCHEMES: [(&str, &str); 13] = [
    ("memory", "memory"),
    ("sqlite", "sqlite"),
    ("postgres", "postgres"),
    ("postgresql", "postgres"),
    ("mysql", "mysql"),
    ("mariadb", "mysql"),
    ("redis", "redis"),
    ("rediss", "redis"),
    ("redis+sentinel", "redis"),
    ("rediss+sentinel", "redis"),
    ("redis+cluster", "redis"),
    ("rediss+cluster", "redis"),
    ("zookeeper", "zookeeper"),
];

/// Opens the storage that a URL names.
///
/// | URL | storage |
/// |---|---|
/// | `memory:` or `memory:NAME` | this process's memory; the same name is the same storage |
/// | `sqlite://relative.db`, `sqlite:///absolute.db` | a file of this host (feature `sqlite`) |
/// | `postgres://user:password@host:port/database` | PostgreSQL, or PgBouncer (feature `postgres`) |
/// | `mysql://user:password@host:3306/database`, `mariadb:` likewise | a server with Simba's tables (feature `mysql`) |
/// | `redis://user:password@host:6379` | one Redis (feature `redis`; `rediss:` and so on with TLS) |
/// | `redis+sentinel://user:password@host:26379,host:26379/master` | the master that Sentinels name (feature `redis`) |
/// | `redis+cluster://user:password@host:6379,host:6379` | a Redis Cluster (feature `redis`) |
/// | `zookeeper://user:password@host:2181,host:2181/root` | a ZooKeeper ensemble (feature `zookeeper`) |
///
/// # Errors
/// [`Config`](crate::ErrorKind::Config) for a text that is no such URL, [`Unsupported`] for a scheme
/// whose cargo feature this build lacks (the message names it), and what the storage itself says.
///
/// # Cancel safety
/// Nothing is held by a dropped call.
///
/// [`Unsupported`]: crate::ErrorKind::Unsupported
pub async fn connect(url: &str) -> Result<Arc<dyn LeaseBackend>, BackendError> {
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(BackendError::config(format!("a storage URL starts with one of {}", known_schemes())));
    };
    match scheme {
        "memory" => Ok(Arc::new(MemoryBackend::named(rest.trim_start_matches('/')))),
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(Arc::new(crate::sqlite::SqliteBackend::connect(url).await?)),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Ok(Arc::new(crate::postgres::PostgresBackend::connect(url).await?)),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => Ok(Arc::new(crate::mysql::MySqlBackend::connect(url).await?)),
        #[cfg(feature = "redis")]
        "redis" | "rediss" | "redis+sentinel" | "rediss+sentinel" | "redis+cluster" | "rediss+cluster" => {
            Ok(Arc::new(crate::redis::RedisBackend::connect(url).await?))
        }
        #[cfg(feature = "zookeeper")]
        "zookeeper" => Ok(Arc::new(crate::zookeeper::ZooKeeperBackend::connect(url).await?)),
        _ => Err(refused(scheme)),
    }
}

fn refused(scheme: &str) -> BackendError {
    match SCHEMES.iter().find(|(known, ..)| *known == scheme) {
        Some((_, feature)) => BackendError::new(
            crate::ErrorKind::Unsupported,
            crate::Outcome::NotApplied,
            format!("this build cannot open {scheme}: URLs: add the cargo feature \"{feature}\""),
        ),
        None => BackendError::config(format!(
            "no storage has the URL scheme {scheme:?}: use one of {}",
            known_schemes()
        )),
    }
}

fn known_schemes() -> String {
    SCHEMES.map(|(scheme, ..)| format!("{scheme}:")).join(", ")
}

#[cfg(all(test, not(feature = "sqlite")))]
mod tests {
    use crate::{ErrorKind, Outcome, connect};

    #[tokio::test]
    async fn a_storage_that_this_build_lacks_is_refused_by_the_name_of_its_feature() {
        let error = connect("sqlite://x.db").await.unwrap_err();
        assert_eq!((error.kind(), error.outcome()), (ErrorKind::Unsupported, Outcome::NotApplied));
        let says = "this build cannot open sqlite: URLs: add the cargo feature \"sqlite\"";
        assert_eq!(error.to_string(), says);
        assert!(!std::path::Path::new("x.db").exists(), "nothing was opened");
    }
}
