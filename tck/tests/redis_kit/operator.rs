//! Somebody at a server who knows nothing of Simba.

use ::redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, RedisResult, aio::MultiplexedConnection};

/// A connection of the administrator's.
pub(crate) struct Operator(MultiplexedConnection);

impl Operator {
    pub(crate) async fn at(url: &str) -> Self {
        let settings = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let client = Client::open(url).unwrap();
        Self(client.get_multiplexed_async_connection_with_config(&settings).await.unwrap())
    }

    /// Runs a command, in which blanks part the words.
    pub(crate) async fn ask<T: FromRedisValue>(&mut self, command: &str) -> T {
        self.words(&command.split_whitespace().collect::<Vec<_>>()).await
    }

    pub(crate) async fn run(&mut self, command: &str) {
        let _: ::redis::Value = self.ask(command).await;
    }

    /// Runs a command of which a word may have blanks, or none.
    pub(crate) async fn words<T: FromRedisValue>(&mut self, words: &[&str]) -> T {
        let answer = self.try_words(words).await;
        answer.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    pub(crate) async fn try_words<T: FromRedisValue>(&mut self, words: &[&str]) -> RedisResult<T> {
        let mut command = Cmd::new();
        for word in words {
            command.arg(*word);
        }
        command.query_async(&mut self.0).await
    }

    /// A number out of `INFO`: `usec` of `cmdstat_evalsha:calls=1,usec=2`, or the value of a plain field.
    pub(crate) async fn info(&mut self, section: &str, field: &str) -> u64 {
        let text: String = self.ask(&format!("INFO {section}")).await;
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{field}:")));
        line.unwrap_or_else(|| panic!("{field} in {text}")).trim().parse().unwrap()
    }

    /// Keys of that pattern, in order.
    pub(crate) async fn keys(&mut self, pattern: &str) -> Vec<String> {
        let (mut found, mut cursor) = (Vec::new(), "0".to_owned());
        loop {
            let words = ["SCAN", &cursor, "MATCH", pattern, "COUNT", "1000"];
            let (next, mut some): (String, Vec<String>) = self.words(&words).await;
            found.append(&mut some);
            if next == "0" {
                break;
            }
            cursor = next;
        }
        found.sort();
        found.dedup();
        found
    }
}
