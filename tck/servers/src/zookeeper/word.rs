//! The four-letter words that a server answers.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// No server takes longer for anything that is not stuck.
pub(super) const BOUND: Duration = Duration::from_secs(60);

/// What takes longer is asked again by whoever polls: the server may be stopped, and one that is about to start
/// may never answer who came too early.
pub(super) const GLANCE: Duration = Duration::from_millis(300);

/// Says a word on a connection of its own, and returns the answer.
pub(super) async fn say(address: SocketAddr, word: &str, bound: Duration) -> io::Result<String> {
    let said = async {
        let mut connection = TcpStream::connect(address).await?;
        connection.write_all(word.as_bytes()).await?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await?;
        Ok(answer)
    };
    let late = |_| Err(io::Error::new(io::ErrorKind::TimedOut, "the server has not answered in time"));
    timeout(bound, said).await.unwrap_or_else(late)
}
