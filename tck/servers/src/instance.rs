//! What all servers have in common: an address, two users, and verbs.

use std::{net::SocketAddr, time::Duration};

use crate::server::Server;

/// What was done, or why it cannot be done to this server.
pub type Lacking<T = ()> = Result<T, &'static str>;

/// How far a server's wall clock is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// Not at all.
    None,
    /// It shows a later time than the machine's.
    Ahead(Duration),
    /// It shows an earlier time than the machine's.
    Behind(Duration),
}

impl Offset {
    fn nanoseconds(self) -> i64 {
        let number = |time: Duration| i64::try_from(time.as_nanos()).expect("292 years are enough");
        match self {
            Self::None => 0,
            Self::Ahead(time) => number(time),
            Self::Behind(time) => -number(time),
        }
    }
}

/// A server of ours, or one that ran already.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) address: SocketAddr,
    pub(crate) url: String,
    pub(crate) admin_url: String,
    pub(crate) server: Option<Server>,
}

impl Instance {
    /// # Errors
    /// It is not ours.
    pub(crate) fn own(&self) -> Lacking<&Server> {
        self.server.as_ref().ok_or("the server was there before the test and is there after it")
    }

    pub(crate) fn set_clock(&self, offset: Offset) -> Lacking {
        self.own()?.set_clock(offset.nanoseconds());
        Ok(())
    }
}

/// The verbs that every server of ours has, by its field `instance`.
macro_rules! verbs {
    ($server:ty) => {
        impl $server {
            /// Where it listens.
            pub fn address(&self) -> std::net::SocketAddr {
                self.instance.address
            }

            /// How the tested program finds it: a user who owns one database and may do nothing else.
            pub fn url(&self) -> &str {
                &self.instance.url
            }

            /// How its administrator finds it, in the same database.
            pub fn admin_url(&self) -> &str {
                &self.instance.admin_url
            }

            /// Ends it as a crash of its process would (SIGKILL). When this returns, it is gone.
            ///
            /// # Errors
            /// Why this server cannot be killed.
            ///
            /// # Cancel safety
            /// Once polled, it is done.
            pub async fn kill(&self) -> crate::Lacking {
                self.instance.own()?.kill();
                Ok(())
            }

            /// Starts it again after [`kill`](Self::kill), on the same port with the same data, and waits until
            /// it answers.
            ///
            /// # Errors
            /// Why this server cannot be started.
            ///
            /// # Panics
            /// If it does not answer within a minute.
            ///
            /// # Cancel safety
            /// Cancelled, the server may or may not run; the call can be repeated.
            pub async fn start_again(&self) -> crate::Lacking {
                self.instance.own()?.start().await;
                Ok(())
            }

            /// Stops all of it where it stands (SIGSTOP): connections stay, nothing is answered.
            ///
            /// # Errors
            /// Why this server cannot be stopped.
            pub fn stop(&self) -> crate::Lacking {
                self.instance.own()?.stop();
                Ok(())
            }

            /// Lets it go on (SIGCONT).
            ///
            /// # Errors
            /// Why this server cannot be resumed.
            pub fn resume(&self) -> crate::Lacking {
                self.instance.own()?.resume();
                Ok(())
            }

            /// Makes its wall clock, and no other, be off by that much from now on; each call replaces the last.
            ///
            /// # Errors
            /// Why this server's clock cannot be moved.
            pub fn step_clock(&self, offset: crate::Offset) -> crate::Lacking {
                self.instance.set_clock(offset)
            }

            /// Its process, while there is one of ours.
            pub fn pid(&self) -> Option<u32> {
                self.instance.own().ok()?.pid()
            }
        }
    };
}
pub(crate) use verbs;
