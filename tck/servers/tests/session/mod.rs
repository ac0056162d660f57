//! Somebody with a session at a ZooKeeper, in as few of its messages as the tests need.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// What becomes of a node when its session ends.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Persistent = 0,
    Ephemeral = 1,
}

/// It sends no pings.
pub(crate) struct Session {
    pub(crate) id: i64,
    stream: TcpStream,
    requests: i32,
}

impl Session {
    /// One that expires after that many milliseconds.
    pub(crate) async fn open(address: SocketAddr, timeout: i32) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        let mut asked = [0, 0, 0, timeout, 0, 0, 16].map(i32::to_be_bytes).concat();
        asked.extend([0; 16]);
        send(&mut stream, &asked).await?;
        let answer = receive(&mut stream).await?;
        let id = i64::from_be_bytes(answer[8..16].try_into().expect("it is that long"));
        Ok(Self { id, stream, requests: 0 })
    }

    /// Makes a node that is everybody's.
    pub(crate) async fn create(&mut self, path: &str, kind: Kind) -> io::Result<Result<(), i32>> {
        self.create_for(path, kind, "world", "anyone").await
    }

    /// Makes a node whose children are somebody's.
    pub(crate) async fn create_for(
        &mut self,
        path: &str,
        kind: Kind,
        scheme: &str,
        who: &str,
    ) -> io::Result<Result<(), i32>> {
        let rights = [text(path), number(0), number(1), number(31), text(scheme), text(who)];
        self.ask(1, &[rights.concat(), number(kind as i32)].concat()).await
    }

    /// Whether a node is there; its next change is told.
    pub(crate) async fn watch(&mut self, path: &str) -> io::Result<bool> {
        self.ask(3, &[&text(path)[..], &[1]].concat()).await.map(|found| found.is_ok())
    }

    /// Asks for something of that number; in vain, the server says why by another one.
    pub(crate) async fn ask(&mut self, kind: i32, body: &[u8]) -> io::Result<Result<(), i32>> {
        self.requests += 1;
        let request = [&number(self.requests)[..], &number(kind), body].concat();
        send(&mut self.stream, &request).await?;
        loop {
            let answer = receive(&mut self.stream).await?;
            // An event that was watched for stands between.
            if answer[..4] == number(self.requests) {
                return Ok(verdict(&answer));
            }
        }
    }
}

fn verdict(answer: &[u8]) -> Result<(), i32> {
    match i32::from_be_bytes(answer[12..16].try_into().expect("it is that long")) {
        0 => Ok(()),
        error => Err(error),
    }
}

async fn send(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    let message = [&number(message.len().try_into().expect("it is short"))[..], message].concat();
    stream.write_all(&message).await
}

async fn receive(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let length = stream.read_i32().await?;
    let mut message = vec![0; length.try_into().expect("it has a length")];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

pub(crate) fn number(number: i32) -> Vec<u8> {
    number.to_be_bytes().into()
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    [number(text.len().try_into().expect("it is short")), text.into()].concat()
}
