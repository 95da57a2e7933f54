//! Many microphones in one thread. Each packet leaves in its own moment, as those of people would: a runtime's timers
//! have milliseconds, and everything that is due within one would leave as a burst.

use crate::client::{Client, Inbox};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use rustix::time::{timerfd_create, timerfd_settime};
use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Events that are looked at together.
const EVENTS: usize = 64;
/// The alarm's mark among the sockets' numbers.
const ALARM: u64 = u64::MAX;
/// An answer that takes longer will not come.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was seen of a conversation of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// From writing a packet to its answer.
    pub(crate) latencies: Vec<Duration>,
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
        microphones.talk(&frame, period, each);
        microphones
    });
    let Microphones { all, seen, .. } = talk.await.unwrap();
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
        Self { all: all.collect(), seen: Seen::default(), poll }
    }

    fn talk(&mut self, frame: &[u8], period: Duration, each: usize) {
        let (count, total) = (self.all.len(), self.all.len() * each);
        let step = period / u32::try_from(count).unwrap();
        let alarm = alarm(step);
        epoll::add(&self.poll, &alarm, EventData::new_u64(ALARM), EventFlags::IN).unwrap();
        let begin = Instant::now();
        let mut sent = 0;
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        while self.seen.latencies.len() < total {
            assert!(begin.elapsed() < period * each as u32 + PATIENCE, "answers are missing");
            events.clear();
            epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut events), None).unwrap();
            for event in &events {
                if event.data.u64() != ALARM {
                    self.hear(event.data.u64() as usize);
                    continue;
                }
                rustix::io::read(&alarm, &mut [0; 8]).unwrap();
                while sent < total && begin.elapsed() >= step * sent as u32 {
                    let late = begin.elapsed() - step * sent as u32;
                    self.seen.lateness.push(late);
                    self.all[sent % count].speak(frame);
                    sent += 1;
                }
            }
        }
    }

    fn hear(&mut self, number: usize) {
        let microphone = &mut self.all[number];
        microphone.inbox.read_from(&mut microphone.stream);
        while microphone.inbox.take_frame().is_some() {
            let sent = microphone.unanswered.pop_front();
            self.seen.latencies.extend(sent.map(|at| at.elapsed()));
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
                Err(err) if err.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(err) => panic!("the server has closed: {err}"),
            }
        }
    }
}

/// Rings once a step.
fn alarm(step: Duration) -> OwnedFd {
    let step = Timespec { tv_sec: 0, tv_nsec: step.as_nanos() as _ };
    let alarm = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).unwrap();
    let times = Itimerspec { it_interval: step, it_value: step };
    timerfd_settime(&alarm, TimerfdTimerFlags::empty(), &times).unwrap();
    alarm
}
