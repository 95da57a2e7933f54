//! Many microphones in one thread. Each packet leaves in its own moment, as those of people would: a runtime's timers
//! have milliseconds, and everything that is due within one would leave as a burst. While an answer is on its way the
//! thread does not sleep: to wake it would cost as much as the answer, and be counted as a part of it.

use crate::client::{Client, Inbox};
use crate::cores;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::thread::set_current_timer_slack;
use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

/// Events that are looked at together.
const EVENTS: usize = 64;
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// An answer that takes longer will not come.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was seen of a conversation of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// When each packet was written, and how long its answer took.
    pub(crate) answers: Vec<(Instant, Duration)>,
    /// How much later than planned packets were sent; the machine's fault, not the server's.
    pub(crate) lateness: Vec<Duration>,
}

struct Microphone {
    stream: TcpStream,
    inbox: Inbox,
    unanswered: VecDeque<Instant>,
}

struct Microphones {
    all: Vec<Microphone>,
    poll: OwnedFd,
    events: Vec<Event>,
    seen: Seen,
}

/// Every client sends `frame` once a `period`, each in its own moment of it, so many times, whether or not answers come.
pub(crate) async fn talk(
    clients: Vec<Client>,
    frame: Arc<[u8]>,
    period: Duration,
    each: usize,
) -> (Vec<Client>, Seen) {
    let parts: Vec<_> = clients.into_iter().map(Client::into_parts).collect();
    let talk = tokio::task::spawn_blocking(move || {
        let mut microphones = Microphones::new(parts);
        cores::of_client(|| microphones.talk(&frame, period, each));
        (microphones.all, microphones.seen)
    });
    let (all, seen) = talk.await.unwrap();
    let clients = all.into_iter().map(|one| Client::from_parts(one.stream, one.inbox));
    (clients.collect(), seen)
}

impl Microphones {
    fn new(parts: Vec<(TcpStream, Inbox)>) -> Self {
        let poll = epoll::create(CreateFlags::CLOEXEC).unwrap();
        let all = parts.into_iter().enumerate().map(|(number, (stream, inbox))| {
            let data = EventData::new_u64(number as u64);
            epoll::add(&poll, &stream, data, EventFlags::IN).unwrap();
            Microphone { stream, inbox, unanswered: VecDeque::new() }
        });
        Self { all: all.collect(), events: Vec::with_capacity(EVENTS), seen: Seen::default(), poll }
    }

    fn talk(&mut self, frame: &[u8], period: Duration, each: usize) {
        let (count, total) = (self.all.len(), self.all.len() * each);
        let step = period / u32::try_from(count).unwrap();
        // Ready to the microsecond, where the system would allow itself fifty.
        set_current_timer_slack(NonZeroU64::new(1)).unwrap();
        let begin = Instant::now();
        let mut sent = 0;
        while self.seen.answers.len() < total {
            let due = begin + step * sent as u32;
            let now = Instant::now();
            assert!(now < due + PATIENCE, "answers are missing");
            if sent < total && now >= due {
                self.seen.lateness.push(now - due);
                self.all[sent % count].speak(frame);
                sent += 1;
            } else if sent > self.seen.answers.len() {
                self.hear();
            } else {
                sleep(due - now);
            }
        }
    }

    /// Takes the answers that are there.
    fn hear(&mut self) {
        self.events.clear();
        let room = spare_capacity(&mut self.events);
        epoll::wait(&self.poll, room, Some(&AT_ONCE)).unwrap();
        for event in &self.events {
            let microphone = &mut self.all[event.data.u64() as usize];
            microphone.inbox.read_from(&mut microphone.stream);
            while microphone.inbox.take_frame().is_some() {
                let sent = microphone.unanswered.pop_front();
                self.seen.answers.extend(sent.map(|at| (at, at.elapsed())));
            }
        }
    }
}

impl Microphone {
    fn speak(&mut self, frame: &[u8]) {
        self.unanswered.push_back(Instant::now());
        let mut rest = frame;
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(written) => rest = &rest[written..],
                // A server that does not read makes its clients wait.
                Err(err) if err.kind() == ErrorKind::WouldBlock => yield_now(),
                Err(err) => panic!("the server has closed: {err}"),
            }
        }
    }
}
