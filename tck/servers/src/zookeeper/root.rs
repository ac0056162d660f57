//! A root of its own in a server that runs already, made with the few messages that this takes.

use std::io;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::word::BOUND;
use crate::{external, instance::Instance};

const CREATE: i32 = 1;
const CLOSE: i32 = -11;

/// Makes a root in such a server. It stays there, since the server may be gone first.
///
/// # Panics
/// If it cannot be made.
pub(super) async fn of_its_own(url: &str) -> Instance {
    let path = format!("/simba-{}", uuid::Uuid::new_v4().simple());
    let (before, host) = external::around_host(url);
    let made = timeout(BOUND, make(host, &path)).await;
    let made = made.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time")));
    made.unwrap_or_else(|error| panic!("no root could be made in the server that was named: {error}"));
    Instance {
        address: external::address_of(url),
        url: format!("zookeeper://{host}{path}"),
        admin_url: format!("{before}{host}{path}"),
        server: None,
    }
}

async fn make(host: &str, path: &str) -> io::Result<()> {
    let mut connection = TcpStream::connect(host).await?;
    // A session of ten seconds; it has no number and no password yet.
    let mut session = [0_i32, 0, 0, 10_000, 0, 0, 16].map(i32::to_be_bytes).concat();
    session.extend([0; 16]);
    exchange(&mut connection, &session).await?;
    // For everybody, all rights.
    let words = [
        numbers(&[1, CREATE]),
        text(path),
        numbers(&[0, 1, 31]),
        text("world"),
        text("anyone"),
        numbers(&[0]),
    ];
    let answer = exchange(&mut connection, &words.concat()).await?;
    let error = answer.get(12..16).and_then(|bytes| bytes.try_into().ok()).map(i32::from_be_bytes);
    exchange(&mut connection, &numbers(&[2, CLOSE])).await?;
    if error == Some(0) { Ok(()) } else { Err(io::Error::other(format!("it was refused: {error:?}"))) }
}

/// Sends a message and returns the next one.
async fn exchange(connection: &mut TcpStream, message: &[u8]) -> io::Result<Vec<u8>> {
    let length = i32::try_from(message.len()).expect("messages are short");
    connection.write_i32(length).await?;
    connection.write_all(message).await?;
    let length = usize::try_from(connection.read_i32().await?).map_err(io::Error::other)?;
    let mut answer = vec![0; length];
    connection.read_exact(&mut answer).await?;
    Ok(answer)
}

fn numbers(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn text(text: &str) -> Vec<u8> {
    let length = i32::try_from(text.len()).expect("names are short");
    [&length.to_be_bytes(), text.as_bytes()].concat()
}
