//! What the administrator of a server can have done, by its field `instance`.

/// To every server.
macro_rules! administered {
    ($server:ty) => {
        impl $server {
            /// Runs one command as the administrator, on a connection of its own.
            ///
            /// # Errors
            /// What the server answered, or that it did not within a minute.
            ///
            /// # Cancel safety
            /// Cancelled, the command may or may not be run.
            pub async fn execute(&self, words: &[&str]) -> ::redis::RedisResult<::redis::Value> {
                crate::redis::command(self.admin_url(), words, crate::redis::BOUND).await
            }
        }
    };
}
pub(crate) use administered;

/// To those that have data.
macro_rules! replicated {
    ($server:ty) => {
        impl $server {
            /// Cuts all its replicas off and lets none come back; other clients stay.
            ///
            /// # Errors
            /// Why this server cannot be told so.
            ///
            /// # Panics
            /// If it does not take the order.
            ///
            /// # Cancel safety
            /// Cancelled, some may not be cut off yet; the call can be repeated.
            pub async fn refuse_replicas(&self) -> crate::Lacking {
                self.instance.own()?;
                self.order(&["ACL", "SETUSER", "replica", "off"]).await;
                self.order(&["CLIENT", "KILL", "USER", "replica"]).await;
                Ok(())
            }

            /// Ends [`refuse_replicas`](Self::refuse_replicas): they come back within some seconds.
            ///
            /// # Errors
            /// Why this server cannot be told so.
            ///
            /// # Panics
            /// If it does not take the order.
            ///
            /// # Cancel safety
            /// Cancelled, it may or may not be done; the call can be repeated.
            pub async fn accept_replicas(&self) -> crate::Lacking {
                self.instance.own()?;
                self.order(&["ACL", "SETUSER", "replica", "on"]).await;
                Ok(())
            }

            pub(crate) async fn order(&self, words: &[&str]) -> ::redis::Value {
                let done = self.execute(words).await;
                done.unwrap_or_else(|error| panic!("the administrator is refused {words:?}: {error}"))
            }
        }
    };
}
pub(crate) use replicated;
