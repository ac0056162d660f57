//! Somebody with a connection to a Redis.

use redis::{AsyncConnectionConfig, Client, FromRedisValue, RedisResult, aio::MultiplexedConnection};

pub(crate) async fn open(url: &str) -> RedisResult<MultiplexedConnection> {
    let patient = AsyncConnectionConfig::new().set_response_timeout(None);
    Client::open(url)?.get_multiplexed_async_connection_with_config(&patient).await
}

/// Runs a command, in which blanks part the words.
pub(crate) async fn ask<T: FromRedisValue>(
    connection: &mut MultiplexedConnection,
    command: &str,
) -> RedisResult<T> {
    let mut words = redis::Cmd::new();
    command.split(' ').for_each(|word| {
        words.arg(word);
    });
    words.query_async(connection).await
}
