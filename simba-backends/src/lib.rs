//! The storage side of Simba: the contract that a storage keeps ([`LeaseBackend`]), the words it is
//! written in, and the storages that keep it.
//!
//! Applications use `simba-actors` and meet this crate only to choose a storage: [`connect`] picks one
//! by URL, each storage's module has a builder. Who writes a backend of their own implements
//! [`LeaseBackend`] and certifies it with `simba-tck`.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), simba_backends::BackendError> {
//! use std::time::Duration;
//! use simba_backends::{Acquired, Acquisition, LeaseName, Metadata, connect};
//!
//! let backend = connect("memory:").await?;
//! let opened = backend.open_session(Duration::from_secs(15), &Metadata::default()).await?;
//! let names = ["invoice-42".parse::<LeaseName>().unwrap()];
//! let Acquired::Answers(answers) = backend.acquire(&opened.session, &names).await? else {
//!     panic!("the session is fresh");
//! };
//! assert!(matches!(answers[0].1, Acquisition::Granted { .. }));
//! # Ok(()) }
//! ```

mod answer;
mod backend;
mod capabilities;
#[doc(hidden)]
pub mod clock;
mod connect;
mod error;
mod hint;
#[cfg(any(feature = "redis", feature = "zookeeper"))]
mod mailbox;
pub mod memory;
mod metadata;
#[cfg(feature = "mysql")]
pub mod mysql;
mod name;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
mod session;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod sql;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(any(feature = "redis", feature = "zookeeper-tls"))]
mod tls;
mod token;
#[cfg(any(feature = "redis", feature = "zookeeper"))]
mod trouble;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "redis", feature = "zookeeper"))]
mod url;
#[cfg(feature = "zookeeper")]
pub mod zookeeper;

pub use answer::{Acquired, Acquisition, Holder, Joined, KeepAlive, Member, Opened, Release};
pub use backend::LeaseBackend;
pub use capabilities::{Capabilities, ClockSource, Renewal, SessionScope};
pub use connect::connect;
pub use error::{BackendError, ErrorKind, Outcome};
pub use hint::{Hint, HintSource};
pub use metadata::{Metadata, MetadataError};
pub use name::{GroupName, LeaseName, NameError};
pub use session::{SessionId, SessionIdError};
pub use token::{Token, TokenError};
