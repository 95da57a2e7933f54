//! The other end of the protocol, and what is on its way to and from it: a process, or an agent inside this one.

use super::super::inside::{EndSignals, Inside};
use super::super::program::Program;
use super::wire::{self, Incoming};
use crate::process::tree::Process;
use crate::process::{
    self, LineError, Lines, Pipes, Place, ProgramStdin, Stderr, Supervised, signal_each,
};
use bytes::BytesMut;
use rustix::process::Signal;
use std::io;
use std::pin::Pin;
use std::process::ExitStatus;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWriteExt, DuplexStream, ReadBuf, ReadHalf, WriteHalf};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

/// A longer message is no message. Pictures and whole files are within it.
const LONGEST_MESSAGE: usize = 16 * 1024 * 1024;
/// Larger messages are read off the runtime's threads.
const LARGE: usize = 256 * 1024;
/// An agent that does not read is not read either once so much waits for it.
const WAITING_LIMIT: usize = 1024 * 1024;

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) host: Host,
    pub(super) writer: Writer,
    pub(super) reader: Reader,
    last_id: u64,
}

/// Where the other end lives.
#[derive(Debug)]
pub(super) enum Host {
    Process(Box<Supervised>),
    Inside(EndSignals),
}

impl Host {
    /// It is asked to leave with everything it started, and killed two seconds later.
    pub(super) fn end(&mut self) {
        match self {
            Self::Process(process) => process.end(),
            Self::Inside(signals) => signals.end(),
        }
    }

    /// Everything is killed now.
    pub(super) fn kill(&mut self) {
        match self {
            Self::Process(process) => process.kill(),
            Self::Inside(signals) => signals.kill(),
        }
    }

    /// Everybody who came out of the program, itself included.
    pub(super) async fn family(&self) -> Vec<Process> {
        match self {
            Self::Process(process) => process.family().await,
            // What it starts has a supervisor of its own, which ends it with the prompt.
            Self::Inside(_) => Vec::new(),
        }
    }

    pub(super) fn signal(&self, some: &[Process], signal: Signal) {
        match self {
            Self::Process(_) => signal_each(some, signal),
            Self::Inside(_) => (),
        }
    }

    /// Returns when nothing more can be said. Dropping the future loses nothing.
    pub(super) async fn exited(&mut self) {
        match self {
            Self::Process(process) => process.exited().await,
            Self::Inside(signals) => signals.gone().await,
        }
    }

    /// Returns when nothing of it is left. Dropping the future loses nothing.
    pub(super) async fn gone(&mut self) -> Option<ExitStatus> {
        match self {
            Self::Process(process) => process.gone().await,
            Self::Inside(signals) => {
                signals.gone().await;
                None
            }
        }
    }
}

/// What the other end does.
#[derive(Debug)]
pub(super) enum Said {
    Message(Incoming),
    /// A line on stderr.
    Complaint(String),
    /// Nothing more comes from there.
    Ended(Silence),
}

/// Why nothing more comes.
#[derive(Debug, thiserror::Error)]
pub(super) enum Silence {
    #[error("it ended in the middle of a message")]
    CutOff,
    #[error("it ended unexpectedly")]
    Closed,
    #[error(transparent)]
    Line(#[from] LineError),
}

impl Peer {
    pub(super) fn start(program: &Program, place: &Place) -> io::Result<Self> {
        let (process, pipes) =
            process::spawn(&program.launcher(), &program.command(), place, ProgramStdin::Passed)?;
        let Pipes { stdin, stdout, stderr } = pipes;
        let host = Host::Process(Box::new(process));
        Ok(Self::new(host, Sink::Process(stdin), Source::Process(stdout), stderr))
    }

    pub(super) fn start_inside(agent: &Inside, place: &Place) -> Self {
        let (signals, stream) = agent.start(place);
        let (source, sink) = tokio::io::split(stream);
        let (sink, source) = (Sink::Memory(sink), Source::Memory(source));
        Self::new(Host::Inside(signals), sink, source, Stderr::none())
    }

    fn new(host: Host, sink: Sink, source: Source, stderr: Stderr) -> Self {
        let writer = Writer { sink, waiting: BytesMut::new() };
        let lines = Lines::new(source, LONGEST_MESSAGE);
        Self { host, writer, reader: Reader { lines, stderr, parsing: None }, last_id: 0 }
    }

    pub(super) fn fresh_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

#[derive(Debug)]
enum Sink {
    Process(ChildStdin),
    Memory(WriteHalf<DuplexStream>),
}

#[derive(Debug)]
enum Source {
    Process(ChildStdout),
    Memory(ReadHalf<DuplexStream>),
}

impl AsyncRead for Source {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Process(pipe) => Pin::new(pipe).poll_read(context, into),
            Self::Memory(half) => Pin::new(half).poll_read(context, into),
        }
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    sink: Sink,
    waiting: BytesMut,
}

impl Writer {
    pub(super) fn push(&mut self, message: &str) {
        self.waiting.extend_from_slice(message.as_bytes());
        self.waiting.extend_from_slice(b"\n");
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.waiting.len() > WAITING_LIMIT
    }

    /// Writes what waits; never ends. Dropping the future loses nothing.
    pub(super) async fn flush(&mut self) {
        while !self.waiting.is_empty() {
            let written = match &mut self.sink {
                Sink::Process(pipe) => pipe.write_buf(&mut self.waiting).await,
                Sink::Memory(half) => half.write_buf(&mut self.waiting).await,
            };
            if written.is_err() {
                // Its reader notices that the agent is gone.
                self.waiting.clear();
            }
        }
        std::future::pending().await
    }
}

#[derive(Debug)]
pub(super) struct Reader {
    lines: Lines<Source>,
    pub(super) stderr: Stderr,
    /// A large message.
    parsing: Option<JoinHandle<Incoming>>,
}

impl Reader {
    /// Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Said {
        if let Some(parsing) = &mut self.parsing {
            // A failed join means that the runtime is ending.
            let message = parsing.await.unwrap_or(Incoming::Unknown);
            self.parsing = None;
            return Said::Message(message);
        }
        tokio::select! {
            biased;
            complaint = self.stderr.next() => Said::Complaint(complaint),
            line = self.lines.next() => match line {
                Ok(Some(line)) if line.len() < LARGE => Said::Message(wire::parse(&line)),
                Ok(Some(line)) => {
                    let parsing = tokio::task::spawn_blocking(move || wire::parse(&line));
                    let message = self.parsing.insert(parsing).await.unwrap_or(Incoming::Unknown);
                    self.parsing = None;
                    Said::Message(message)
                }
                Ok(None) if self.lines.rest().is_empty() => Said::Ended(Silence::Closed),
                Ok(None) => Said::Ended(Silence::CutOff),
                Err(err) => Said::Ended(err.into()),
            },
        }
    }
}
