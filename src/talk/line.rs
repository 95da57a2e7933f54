//! One socket of the session, connected again whenever it is lost: same session, from where it was.

use super::TalkError;
use super::address::Address;
use super::backoff::Backoff;
use super::dial::{Socket, dial};
use super::outbox::{Outbox, Outgoing};
use super::playout::RATE;
use crate::dialect::aicore::client::{self, Content, Hello};
use crate::locale::Locale;
use crate::message::Channel;
use futures_util::{SinkExt, StreamExt};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Error, Message};

/// What a conversation has not read yet. Full: the socket waits, and the gateway with it.
pub(super) const NEWS_CAPACITY: usize = 256;
/// For name, connection, TLS and upgrade, and once more for the welcome.
const PATIENCE: Duration = Duration::from_secs(10);
/// A network that takes nothing for so long is as good as none.
const WRITE_PATIENCE: Duration = Duration::from_secs(5);
const PING: Duration = Duration::from_secs(5);
/// Without any frame for so long, answers to pings included, nobody is there.
const SILENCE: Duration = Duration::from_secs(20);
/// The past that a new window shows.
const HISTORY: usize = 10;
/// What this client can do besides.
const FEATURES: &[&str] = &["playback"];

/// What happens on a line.
#[derive(Debug)]
pub(super) enum News {
    Opened {
        session: String,
        /// Whether the gateway has been away since the last time, so that it counts anew.
        reborn: bool,
    },
    Heard(Content),
    /// Connects again by itself.
    Lost {
        reason: String,
    },
    /// There is no way back.
    Failed(TalkError),
}

#[derive(Debug)]
pub(super) struct Line {
    pub(super) channel: Channel,
    pub(super) address: Address,
    pub(super) token: Option<String>,
    pub(super) language: Locale,
    pub(super) session: Option<String>,
    /// What goes out here, if anything.
    pub(super) outbox: Option<Arc<Outbox>>,
    pub(super) news: mpsc::Sender<(Channel, News)>,
    pub(super) stop: CancellationToken,
    /// Whether there was a connection before: only then it is worth waiting for the next.
    pub(super) known_good: bool,
    /// The epoch of the session and the last number that was seen of it.
    pub(super) cursor: Option<(String, u64)>,
    /// The gateway was not there, or said that it ends.
    pub(super) reborn: bool,
}

/// How a connection ended.
#[derive(Debug)]
enum Over {
    /// Somebody here wanted it.
    Stopped,
    Lost {
        reason: String,
        wait: Option<Duration>,
    },
    Refused(String),
}

impl Over {
    fn lost(reason: impl Into<String>) -> Self {
        Self::Lost { reason: reason.into(), wait: None }
    }
}

impl Line {
    /// Runs until it is stopped, nobody listens, or the gateway does not want it.
    pub(super) async fn keep(mut self) {
        let (stop, mut backoff) = (self.stop.clone(), Backoff::default());
        loop {
            let news = match self.connection(&mut backoff).await {
                Over::Stopped => return,
                Over::Refused(reason) => News::Failed(TalkError::Refused(reason)),
                Over::Lost { reason, .. } if !self.known_good => {
                    let url = self.address.url().to_owned();
                    News::Failed(TalkError::Unreachable { url, reason })
                }
                Over::Lost { reason, wait } => {
                    if self.tell(News::Lost { reason }).await {
                        return;
                    }
                    let wait = wait.unwrap_or_else(|| backoff.next());
                    tokio::select! {
                        () = sleep(wait) => continue,
                        () = stop.cancelled() => return,
                    }
                }
            };
            self.tell(news).await;
            return;
        }
    }

    async fn connection(&mut self, backoff: &mut Backoff) -> Over {
        let stop = self.stop.clone();
        let opened = tokio::select! {
            opened = self.open() => opened,
            () = stop.cancelled() => return Over::Stopped,
        };
        let mut socket = match opened {
            Ok(socket) => socket,
            Err(over) => return over,
        };
        backoff.succeeded();
        let over = tokio::select! {
            over = self.talk(&mut socket) => over,
            () = stop.cancelled() => Over::Stopped,
        };
        // Whoever cannot be told finds out alone.
        let _ = timeout(Duration::from_secs(1), socket.close(None)).await;
        over
    }

    async fn open(&mut self) -> Result<Socket, Over> {
        let late = |_| Over::lost("it does not answer");
        let mut socket = timeout(PATIENCE, self.dial()).await.map_err(late)??;
        let hello = Hello {
            session: self.session.as_deref(),
            channel: self.channel,
            language: Some(self.language.tag()),
            features: FEATURES,
            history: HISTORY,
            cursor: self.cursor.as_ref().map(|(epoch, seq)| (epoch.as_str(), *seq)),
        };
        send(&mut socket, Message::text(hello.write())).await?;
        timeout(PATIENCE, self.welcome(&mut socket)).await.map_err(late)??;
        Ok(socket)
    }

    async fn dial(&mut self) -> Result<Socket, Over> {
        match dial(&self.address, self.token.as_deref()).await {
            Ok(socket) => Ok(socket),
            Err(Error::Http(answer)) => {
                let said = format!("it answers {}", answer.status());
                let passing = answer.status().is_server_error();
                Err(if passing { Over::lost(said) } else { Over::Refused(said) })
            }
            Err(Error::Io(err)) => {
                self.reborn |= err.kind() == ErrorKind::ConnectionRefused;
                Err(Over::lost(err.to_string()))
            }
            Err(err) => Err(Over::lost(err.to_string())),
        }
    }

    /// Reads up to `init`. A refusal comes as an error and a close code.
    async fn welcome(&mut self, socket: &mut Socket) -> Result<(), Over> {
        let mut told = None;
        loop {
            let Some(heard) = self.read(socket.next().await, told.as_deref())? else { continue };
            match heard {
                Content::Welcome { session, epoch, resumed } => {
                    let seen = self.cursor.take().filter(|_| resumed).map_or(0, |(_, seq)| seq);
                    self.cursor = Some((epoch, seen));
                    self.session = Some(session.clone());
                    self.known_good = true;
                    if let Some(outbox) = &self.outbox {
                        outbox.forget_control();
                    }
                    let reborn = std::mem::take(&mut self.reborn);
                    let gone = self.tell(News::Opened { session, reborn }).await;
                    return if gone { Err(Over::Stopped) } else { Ok(()) };
                }
                Content::Refused { text, .. } => told = Some(text),
                Content::Audio { .. }
                | Content::Stop { .. }
                | Content::Text { .. }
                | Content::Other => (),
            }
        }
    }

    async fn talk(&mut self, socket: &mut Socket) -> Over {
        let mut beat = interval(PING);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut heard_at, mut told) = (Instant::now(), None);
        loop {
            tokio::select! {
                frame = socket.next() => {
                    heard_at = Instant::now();
                    match self.read(frame, told.as_deref()) {
                        Ok(None) => (),
                        Ok(Some(heard)) => {
                            if let Content::Refused { text, .. } = &heard {
                                told = Some(text.clone());
                            }
                            if self.tell(News::Heard(heard)).await {
                                return Over::Stopped;
                            }
                        }
                        Err(over) => return over,
                    }
                }
                outgoing = next(self.outbox.as_deref()) => {
                    let packet = self.written(&outgoing);
                    if let Err(over) = send(socket, Message::text(packet)).await {
                        return over;
                    }
                }
                _ = beat.tick() => {
                    if heard_at.elapsed() > SILENCE {
                        return Over::lost("it does not answer any more");
                    }
                    if let Err(over) = send(socket, Message::Ping(Vec::new().into())).await {
                        return over;
                    }
                }
            }
        }
    }

    fn written(&self, outgoing: &Outgoing) -> String {
        let session = self.session.as_deref().unwrap_or_default();
        match outgoing {
            Outgoing::Sound(pcm) => client::write_audio(session, RATE, pcm),
            Outgoing::Playback(playback) => client::write_playback(session, playback),
            Outgoing::Press(press) => client::write_press(session, *press),
        }
    }

    /// `None` for what is no packet. `told` is the last error, which explains a close code better than its number.
    fn read(
        &mut self,
        frame: Option<Result<Message, Error>>,
        told: Option<&str>,
    ) -> Result<Option<Content>, Over> {
        match frame {
            Some(Ok(Message::Text(text))) => {
                let Ok(heard) = client::read(&text) else {
                    // A newer gateway may say more than we know.
                    return Ok(None);
                };
                if let (Some(seq), Some((_, seen))) = (heard.seq, &mut self.cursor) {
                    *seen = seq.max(*seen);
                }
                Ok(Some(heard.content))
            }
            Some(Ok(Message::Close(Some(close)))) => Err(self.closed(&close, told)),
            Some(Ok(Message::Close(None))) | None => Err(Over::lost("the connection was closed")),
            Some(Ok(
                Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_),
            )) => Ok(None),
            Some(Err(err)) => Err(Over::lost(err.to_string())),
        }
    }

    /// Codes from 3500 on say: not the same again.
    fn closed(&mut self, close: &CloseFrame, told: Option<&str>) -> Over {
        let code = u16::from(close.code);
        let reason = told.map_or_else(|| close.reason.to_string(), str::to_owned);
        if (3_500..4_000).contains(&code) {
            return Over::Refused(reason);
        }
        if code != 3_001 && close.code != CloseCode::Away {
            return Over::lost(format!("{reason} ({code})"));
        }
        self.reborn = true;
        Over::Lost { reason: "the gateway stops".to_owned(), wait: hint(&close.reason) }
    }

    /// True: nobody listens any more.
    async fn tell(&self, news: News) -> bool {
        self.news.send((self.channel, news)).await.is_err()
    }
}

/// `retry in 1500 ms`
fn hint(reason: &str) -> Option<Duration> {
    let number = reason.strip_prefix("retry in ")?.strip_suffix(" ms")?;
    number.parse().ok().map(Duration::from_millis)
}

async fn next(outbox: Option<&Outbox>) -> Outgoing {
    match outbox {
        Some(outbox) => outbox.next().await,
        None => std::future::pending().await,
    }
}

async fn send(socket: &mut Socket, message: Message) -> Result<(), Over> {
    match timeout(WRITE_PATIENCE, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(err)) => Err(Over::lost(err.to_string())),
        Err(_) => Err(Over::lost("the network takes nothing")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_that_stops_says_how_long_to_wait() {
        assert_eq!(hint("retry in 1500 ms"), Some(Duration::from_millis(1_500)));
        for other in ["", "retry in x ms", "later"] {
            assert_eq!(hint(other), None);
        }
    }
}
