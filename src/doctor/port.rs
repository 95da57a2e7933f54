//! Whether the gateway could listen, and who does if it cannot.

use super::Finding;
use crate::server::tls::PLAIN_REFUSED;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tokio::net::TcpSocket;

const CHECK: &str = "port";
/// Whoever listens on this machine answers faster.
const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_ANSWER: u64 = 4096;

pub(super) fn finding(address: SocketAddr, running: bool) -> Finding {
    if address.port() == 0 {
        return Finding::ok(CHECK, "any free one is taken, and printed at the start");
    }
    match reserve(address) {
        Ok(()) if running => Finding::ok(CHECK, format!("{address} is free"))
            .with("the running gateway listens elsewhere; its first line of output says where"),
        Ok(()) => Finding::ok(CHECK, format!("{address} is free")),
        Err(err) if err.kind() == io::ErrorKind::AddrInUse => taken(address, running),
        Err(err) => Finding::fail(
            CHECK,
            format!("{address} cannot be used: {err}"),
            "choose another with --listen",
        ),
    }
}

/// Binds without listening, so that nobody can connect meanwhile.
fn reserve(address: SocketAddr) -> io::Result<()> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // As a listener does: connections that have just ended are not in the way.
    socket.set_reuseaddr(true)?;
    socket.bind(address)
}

fn taken(address: SocketAddr, running: bool) -> Finding {
    let answer = |path| ask(address, path).unwrap_or_default();
    let live = answer("/live");
    // Nothing more is asked of a gateway with TLS: its certificate need not be good for this name.
    let encrypted = live.ends_with(PLAIN_REFUSED);
    if !encrypted && !live.ends_with("\r\n\r\nlive\n") {
        return Finding::fail(
            CHECK,
            format!("{address} is in use by another program"),
            "end that program, or choose another with --listen",
        );
    }
    if !running {
        return Finding::fail(
            CHECK,
            format!("{address} is in use by a gateway with another data directory"),
            "ask with its --data, or choose another port with --listen",
        );
    }
    if encrypted {
        return Finding::ok(
            CHECK,
            format!("{address} is in use by the running gateway, which speaks https"),
        );
    }
    let ready = answer("/ready");
    if ready.starts_with("HTTP/1.1 200 ") {
        return Finding::ok(
            CHECK,
            format!("{address} is in use by the running gateway, which is ready"),
        );
    }
    let reason = ready.lines().last().unwrap_or_default();
    Finding::fail(
        CHECK,
        format!("the running gateway at {address} says: {reason}"),
        "look at its log; usually the disk is full or gone",
    )
}

fn ask(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // A gateway always answers to this name, whichever loopback address it listens on.
    let host = format!("localhost:{}", address.port());
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use std::net::TcpListener;

    #[test]
    fn a_free_port_is_fine_and_stays_free() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        assert_eq!(finding(address, false), Finding::ok(CHECK, format!("{address} is free")));
        assert!(finding(address, true).advice.is_some());
        TcpListener::bind(address).unwrap();
    }

    #[test]
    fn another_program_is_told_from_a_gateway() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let other = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.write_all(b"220 mail.example ready\r\n");
        });
        let found = finding(address, false);
        assert_eq!(found.verdict, Verdict::Fail);
        assert!(found.found.ends_with("another program"), "{found:?}");
        other.join().unwrap();
    }

    #[test]
    fn an_address_of_another_machine_is_a_failure() {
        let found = finding("192.0.2.1:8091".parse().unwrap(), false);
        assert_eq!(found.verdict, Verdict::Fail);
    }
}
