//! Sockets whose frames a test reads by hand, when and if it wants to.

use crate::client::{Aicore, Codec};
use crate::support::{KIND, PATIENCE, SESSION, SOCKET_PATH, TOKEN};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

/// A socket whose frames are read by hand.
pub(crate) type Socket = WebSocketStream<TcpStream>;

pub(crate) enum Heard {
    Packet(Value),
    Closed(u16, String),
    /// Without a close.
    Gone,
}

/// Connects with a receive buffer that is soon full, and takes `init`.
pub(crate) async fn attach(
    addr: SocketAddr,
    name: &str,
    session: Option<&str>,
    more: Value,
) -> (Value, Socket) {
    let tcp = TcpSocket::new_v4().unwrap();
    tcp.set_recv_buffer_size(32 * 1024).unwrap();
    let stream = tcp.connect(addr).await.unwrap();
    let url = format!("ws://{addr}{SOCKET_PATH}");
    let (mut socket, _) = tokio_tungstenite::client_async(url, stream).await.unwrap();
    let mut connect =
        json!({"type": "connect", SESSION: session, "ソケット番号": name, "トークン": TOKEN});
    connect.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    socket.send(Message::text(connect.to_string())).await.unwrap();
    let init = packet(&mut socket).await;
    assert_eq!(init[KIND], "init", "{init}");
    (init, socket)
}

pub(crate) async fn hear(socket: &mut Socket) -> Heard {
    let next = async {
        loop {
            match socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    let packet = serde_json::from_str(&text).unwrap();
                    Aicore::default().heard(&packet);
                    return Heard::Packet(packet);
                }
                Some(Ok(Message::Close(Some(frame)))) => {
                    return Heard::Closed(frame.code.into(), frame.reason.to_string());
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Heard::Gone,
            }
        }
    };
    timeout(PATIENCE, next).await.expect("nothing in time")
}

/// The next packet of a socket that must not be closed.
pub(crate) async fn packet(socket: &mut Socket) -> Value {
    match hear(socket).await {
        Heard::Packet(packet) => packet,
        Heard::Closed(code, reason) => panic!("closed with {code} {reason}"),
        Heard::Gone => panic!("cut off"),
    }
}
