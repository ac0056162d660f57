//! Each fault of the proxy is what a client sees.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{io::ErrorKind, net::SocketAddr, time::Duration};

use simba_servers::{LostReply, Proxy};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};

/// So long is silence waited for.
const QUIET: Duration = Duration::from_millis(200);

/// What comes takes no longer.
const BOUND: Duration = Duration::from_secs(20);

/// A server that answers each byte with the next one, and tells which it has got.
async fn counting_server() -> (SocketAddr, mpsc::UnboundedReceiver<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let tell = tell.clone();
            tokio::spawn(async move {
                while let Ok(byte) = stream.read_u8().await {
                    let _ = tell.send(byte); // nobody may be interested
                    if stream.write_u8(byte + 1).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    (address, told)
}

async fn ask(client: &mut TcpStream, byte: u8) -> std::io::Result<u8> {
    client.write_u8(byte).await?;
    answer(client).await
}

async fn answer(client: &mut TcpStream) -> std::io::Result<u8> {
    timeout(BOUND, client.read_u8()).await.expect("an answer or an end comes in time")
}

async fn is_silent(client: &mut TcpStream) -> bool {
    timeout(QUIET, client.read_u8()).await.is_err()
}

async fn connect(proxy: &Proxy) -> TcpStream {
    TcpStream::connect(proxy.address()).await.unwrap()
}

#[tokio::test]
async fn a_sound_way_carries_and_counts_round_trips() {
    let (server, _told) = counting_server().await;
    let proxy = Proxy::before(server).await;
    let (mut one, mut other) = (connect(&proxy).await, connect(&proxy).await);
    assert_eq!(proxy.round_trips(), 0);
    for byte in 0..3 {
        assert_eq!(ask(&mut one, byte).await.unwrap(), byte + 1);
    }
    assert_eq!(ask(&mut other, 9).await.unwrap(), 10);
    assert_eq!(proxy.round_trips(), 4);
    drop(proxy);
    assert!(ask(&mut one, 1).await.is_err(), "the way ends with its proxy");
}

#[tokio::test]
async fn the_end_of_either_side_is_told_to_the_other() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = Proxy::before(listener.local_addr().unwrap()).await;
    let mut client = connect(&proxy).await;
    let (mut server, _) = listener.accept().await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(server.read(&mut [0]).await.unwrap(), 0);
    server.write_u8(7).await.unwrap();
    assert_eq!(answer(&mut client).await.unwrap(), 7, "one direction ends without the other");
    drop(server);
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
}

#[tokio::test]
async fn a_delay_counts_once_in_each_direction() {
    let (server, _told) = counting_server().await;
    let proxy = Proxy::before(server).await;
    let mut client = connect(&proxy).await;
    assert_eq!(ask(&mut client, 1).await.unwrap(), 2);
    proxy.delay(QUIET).await;
    client.write_u8(3).await.unwrap();
    assert!(is_silent(&mut client).await, "the request alone takes that long");
    assert_eq!(answer(&mut client).await.unwrap(), 4);
    proxy.delay(Duration::from_secs(3600)).await;
    client.write_u8(5).await.unwrap();
    assert!(is_silent(&mut client).await);
    proxy.heal().await;
    assert_eq!(answer(&mut client).await.unwrap(), 6);
}

#[tokio::test]
async fn a_black_hole_is_silent_until_it_is_healed() {
    let (server, mut told) = counting_server().await;
    let (proxy, other) = (Proxy::before(server).await, Proxy::before(server).await);
    let (mut old, mut unharmed) = (connect(&proxy).await, connect(&other).await);
    assert_eq!(ask(&mut old, 1).await.unwrap(), 2);
    assert_eq!(told.recv().await, Some(1));
    proxy.black_hole().await;
    let mut new = connect(&proxy).await;
    for client in [&mut old, &mut new] {
        client.write_u8(3).await.unwrap();
        assert!(is_silent(client).await);
    }
    assert!(told.is_empty(), "nothing went through");
    assert_eq!(ask(&mut unharmed, 7).await.unwrap(), 8, "another client's way is another");
    proxy.heal().await;
    assert_eq!(answer(&mut old).await.unwrap(), 4);
    assert_eq!(answer(&mut new).await.unwrap(), 4);
}

#[tokio::test]
async fn a_reset_cuts_what_is_there_and_nothing_later() {
    let (server, _told) = counting_server().await;
    let proxy = Proxy::before(server).await;
    let mut client = connect(&proxy).await;
    assert_eq!(ask(&mut client, 1).await.unwrap(), 2);
    proxy.reset().await;
    assert_eq!(answer(&mut client).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(ask(&mut connect(&proxy).await, 3).await.unwrap(), 4);
}

#[tokio::test]
async fn refused_nobody_gets_in_until_it_is_healed() {
    let (server, _told) = counting_server().await;
    let proxy = Proxy::before(server).await;
    let mut client = connect(&proxy).await;
    assert_eq!(ask(&mut client, 1).await.unwrap(), 2);
    proxy.refuse().await;
    assert_eq!(answer(&mut client).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let refused = TcpStream::connect(proxy.address()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    proxy.heal().await;
    assert_eq!(ask(&mut connect(&proxy).await, 3).await.unwrap(), 4);
}

#[tokio::test]
async fn a_lost_reply_is_to_a_request_that_was_carried_out() {
    for then in [LostReply::Reset, LostReply::Silence] {
        let (server, mut told) = counting_server().await;
        let proxy = Proxy::before(server).await;
        let mut client = connect(&proxy).await;
        assert_eq!(ask(&mut client, 1).await.unwrap(), 2);
        assert_eq!(told.recv().await, Some(1));
        proxy.lose_replies_after(1, then).await;
        assert_eq!(ask(&mut client, 3).await.unwrap(), 4, "one more is answered");
        assert_eq!(told.recv().await, Some(3));
        client.write_u8(5).await.unwrap();
        match then {
            LostReply::Reset => {
                assert_eq!(answer(&mut client).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
            }
            LostReply::Silence => assert!(is_silent(&mut client).await),
        }
        assert_eq!(told.recv().await, Some(5), "the server has it");
        proxy.lose_replies(then).await;
        let mut new = connect(&proxy).await;
        new.write_u8(7).await.unwrap();
        assert_eq!(told.recv().await, Some(7));
        proxy.heal().await;
        if then == LostReply::Silence {
            assert!(is_silent(&mut client).await, "what is lost stays lost");
        }
        assert_eq!(ask(&mut connect(&proxy).await, 9).await.unwrap(), 10);
    }
}

#[tokio::test]
async fn where_nobody_listens_clients_are_cut_off() {
    let unused = Proxy::before("127.0.0.1:1".parse().unwrap()).await;
    let mut client = connect(&unused).await;
    assert_eq!(answer(&mut client).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_url_leads_through_the_proxy_and_is_else_the_same() {
    let proxy = Proxy::before("127.0.0.1:1".parse().unwrap()).await;
    let port = proxy.address().port();
    assert_eq!(proxy.url("mysql://a:b@h:3306/d?x=y"), format!("mysql://a:b@127.0.0.1:{port}/d?x=y"));
}
