//! Commands for one server.

use std::time::Duration;

use redis::{AsyncConnectionConfig, Client, Cmd, ErrorKind, RedisResult, Value};
use tokio::time::timeout;

/// No server takes longer for anything that is not stuck.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

/// What takes longer is asked again by whoever polls: the server may be stopped.
pub(crate) const GLANCE: Duration = Duration::from_millis(500);

/// Runs a command on a connection of its own.
pub(crate) async fn command(url: &str, words: &[&str], bound: Duration) -> RedisResult<Value> {
    let asked = async {
        let settings = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let client = Client::open(url)?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&settings).await?;
        let mut command = Cmd::new();
        for word in words {
            command.arg(*word);
        }
        command.query_async(&mut connection).await
    };
    let late = |_| Err((ErrorKind::Io, "the server has not answered in time").into());
    timeout(bound, asked).await.unwrap_or_else(late)
}
