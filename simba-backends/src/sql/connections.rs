//! The connections that everything but keep-alives takes turns on.

use std::{
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use sqlx::{Connection, Pool, pool::PoolConnection};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use super::server::Driver;

type Options<D> = <<D as sqlx::Database>::Connection as Connection>::Options;

/// Where connections come from.
pub(crate) enum Connections<D: Driver> {
    /// So many, of our own. The driver's pool would ask the server twice for each use, and would ask one that
    /// refuses again until the time is up.
    Ours {
        options: Box<Options<D>>,
        /// What a connection is told before its first message.
        greeting: OnceLock<String>,
        permits: Semaphore,
        idle: Mutex<Vec<D::Connection>>,
    },
    /// The application's, which closes it.
    Theirs(Pool<D>),
}

/// Why there is no connection.
pub(super) enum NoConnection {
    /// All were in use for too long.
    Starved,
    /// The server did not take a new one in time.
    Unanswered,
    Refused(sqlx::Error),
}

impl<D: Driver> Connections<D> {
    /// At most so many connections, of our own.
    pub(crate) fn ours(options: Options<D>, most: usize) -> Self {
        let (permits, idle) = (Semaphore::new(most), Mutex::default());
        Self::Ours { options: Box::new(options), greeting: OnceLock::new(), permits, idle }
    }

    /// Says, once, what each connection that is taken from now on is told before its first message. The
    /// application's are told nothing.
    #[cfg(feature = "postgres")]
    pub(crate) fn greet(&self, with: String) {
        if let Self::Ours { greeting, .. } = self {
            let is_first = greeting.set(with).is_ok();
            debug_assert!(is_first, "said once");
        }
    }

    /// How a connection is made; the application may change it at any time.
    pub(crate) fn options(&self) -> Options<D> {
        match self {
            Self::Ours { options, .. } => options.as_ref().clone(),
            Self::Theirs(pool) => pool.connect_options().as_ref().clone(),
        }
    }

    /// Opens one that is counted nowhere.
    pub(super) async fn open(&self, limit: Duration) -> Result<D::Connection, NoConnection> {
        let opening = timeout(limit, D::Connection::connect_with(&self.options())).await;
        opening.map_err(|_| NoConnection::Unanswered)?.map_err(NoConnection::Refused)
    }

    async fn open_greeted(
        &self,
        greeting: Option<&String>,
        limit: Duration,
    ) -> Result<D::Connection, NoConnection> {
        let mut connection = self.open(limit).await?;
        if let Some(greeting) = greeting {
            let told = timeout(limit, D::exchange(&mut connection, greeting)).await;
            told.map_err(|_| NoConnection::Unanswered)?
                .map_err(|failure| NoConnection::Refused(failure.error))?;
        }
        Ok(connection)
    }

    pub(super) async fn checkout(&self, limit: Duration) -> Result<Checkout<'_, D>, NoConnection> {
        match self {
            Self::Ours { permits, idle, greeting, .. } => {
                let permit = timeout(limit, permits.acquire()).await.map_err(|_| NoConnection::Starved)?;
                let permit = permit.expect("nobody closes the semaphore");
                let found = lock(idle).pop();
                let connection = match found {
                    Some(connection) => connection,
                    None => self.open_greeted(greeting.get(), limit).await?,
                };
                Ok(Checkout::Ours { connection: Some(connection), idle, _permit: permit })
            }
            Self::Theirs(pool) => match timeout(limit, pool.acquire()).await {
                Ok(Ok(connection)) => Ok(Checkout::Theirs(Some(connection))),
                Ok(Err(sqlx::Error::PoolTimedOut)) | Err(_) => Err(NoConnection::Starved),
                Ok(Err(error)) => Err(NoConnection::Refused(error)),
            },
        }
    }

    /// After a server has gone, every idle connection would cost a call that finds out. The application's pool
    /// tests what it gives.
    pub(super) fn drop_idle(&self) {
        match self {
            Self::Ours { idle, .. } => drop(std::mem::take(&mut *lock(idle))),
            Self::Theirs(_) => {}
        }
    }
}

/// A connection that is closed instead of given back, unless its message came to its end.
pub(super) enum Checkout<'a, D: Driver> {
    Ours {
        connection: Option<D::Connection>,
        idle: &'a Mutex<Vec<D::Connection>>,
        _permit: SemaphorePermit<'a>,
    },
    Theirs(Option<PoolConnection<D>>),
}

impl<D: Driver> Checkout<'_, D> {
    pub(super) fn get(&mut self) -> &mut D::Connection {
        let connection = match self {
            Self::Ours { connection, .. } => connection.as_mut(),
            Self::Theirs(connection) => connection.as_deref_mut(),
        };
        connection.expect("only give_back takes it, and consumes the checkout")
    }

    pub(super) fn give_back(mut self) {
        match &mut self {
            Self::Ours { connection, idle, .. } => lock(idle).extend(connection.take()),
            Self::Theirs(connection) => drop(connection.take()),
        }
    }
}

impl<D: Driver> Drop for Checkout<'_, D> {
    fn drop(&mut self) {
        if let Self::Theirs(connection) = self
            && let Some(connection) = connection.take()
        {
            drop(connection.detach());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
