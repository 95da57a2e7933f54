//! What a person sees of a conversation: captions of both sides, notices, and on a terminal the levels below them. Writes
//! on a thread of its own, so that a screen that takes nothing never holds up the sound.

use super::level::bar;
use super::terminal::Terminal;
use crate::locale::Locale;
use std::io::{self, IsTerminal, Write, stdin, stdout};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Lines on their way to the screen. Full: the newest is not shown.
const CAPACITY: usize = 256;
/// How long the end waits for the last lines.
const LAST_LINES: Duration = Duration::from_millis(500);
const BAR: usize = 12;

/// What the line at the bottom shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) microphone: u16,
    pub(super) speaker: u16,
    pub(super) connected: bool,
    pub(super) muted: bool,
    /// Whether the key for talking is held, where there is one.
    pub(super) talking: Option<bool>,
    /// So much of the microphone could not be kept.
    pub(super) lost: Duration,
}

#[derive(Debug)]
enum Shown {
    Line(String),
    Status(Status),
    TellRelease,
}

#[derive(Debug)]
pub(super) struct Screen {
    shown: Option<SyncSender<Shown>>,
    done: Receiver<()>,
    terminal: bool,
    locale: Locale,
}

impl Screen {
    pub(super) fn open(locale: Locale) -> io::Result<Self> {
        let terminal = (stdin().is_terminal() && stdout().is_terminal())
            .then(|| Terminal::take().ok())
            .flatten();
        let (shown, lines) = sync_channel(CAPACITY);
        let (ending, done) = sync_channel(1);
        let is_terminal = terminal.is_some();
        thread::Builder::new().name("talk-screen".to_owned()).spawn(move || {
            show(&lines, terminal, locale);
            // Nobody may be left to wait for it.
            let _ = ending.try_send(());
        })?;
        Ok(Self { shown: Some(shown), done, terminal: is_terminal, locale })
    }

    /// Whether there are keys to be read.
    pub(super) fn is_terminal(&self) -> bool {
        self.terminal
    }

    pub(super) fn caption(&self, who: &str, text: &str) {
        self.show(Shown::Line(format!(
            "{}: {}",
            self.locale.say("talk", who, &[]),
            harmless(text)
        )));
    }

    /// In the language of the person, if it is a phrase of ours.
    pub(super) fn notice(&self, text: &str) {
        self.show(Shown::Line(format!("-- {}", harmless(&self.locale.word(text)))));
    }

    pub(super) fn status(&self, status: Status) {
        if self.terminal {
            self.show(Shown::Status(status));
        }
    }

    pub(super) fn tell_release(&self) {
        self.show(Shown::TellRelease);
    }

    fn show(&self, shown: Shown) {
        if let Some(sender) = &self.shown {
            // See CAPACITY.
            let _ = sender.try_send(shown);
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.shown = None;
        // Too slow a screen loses its end.
        let _ = self.done.recv_timeout(LAST_LINES);
    }
}

fn show(lines: &Receiver<Shown>, mut terminal: Option<Terminal>, locale: Locale) {
    let mut status = String::new();
    for shown in lines {
        let written = match (&mut terminal, shown) {
            (Some(terminal), Shown::Line(text)) => {
                terminal.line(&text).and_then(|()| terminal.status(&status))
            }
            (Some(terminal), Shown::Status(now)) => {
                status = now.said(locale);
                terminal.status(&status)
            }
            (Some(terminal), Shown::TellRelease) => terminal.tell_release(),
            (None, Shown::Line(text)) => {
                let mut out = stdout().lock();
                writeln!(out, "{text}").and_then(|()| out.flush())
            }
            (None, Shown::Status(_) | Shown::TellRelease) => Ok(()),
        };
        if written.is_err() {
            return;
        }
    }
}

impl Status {
    fn said(&self, locale: Locale) -> String {
        let (microphone, speaker) = (bar(self.microphone, BAR), bar(self.speaker, BAR));
        let say = |name: &str, values: &[(&str, &str)]| locale.say("talk", name, values);
        let state = match (self.connected, self.muted, self.talking) {
            (false, _, _) => "connecting",
            (true, true, _) => "muted",
            (true, false, None | Some(true)) => "listening",
            (true, false, Some(false)) => "waiting",
        };
        let values =
            [("microphone", &*microphone), ("speaker", &*speaker), ("state", &say(state, &[]))];
        let mut line = say("levels", &values);
        if !self.lost.is_zero() {
            let seconds = format!("{:.1}", self.lost.as_secs_f64());
            line += &format!("  {}", say("lost", &[("seconds", &seconds)]));
        }
        let keys = if self.talking.is_some() { "keys_to_talk" } else { "keys" };
        format!("{line}  |  {}", say(keys, &[]))
    }
}

/// What models say must not give orders to a terminal.
fn harmless(text: &str) -> String {
    text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_give_orders_to_a_terminal() {
        assert_eq!(harmless("\x1b]0;owned\x07 hi\nthere\n"), " ]0;owned  hi there");
    }

    #[test]
    fn the_status_says_what_can_be_done() {
        let status = Status { connected: true, talking: Some(false), ..Status::default() };
        assert_eq!(
            status.said(Locale::En),
            "mic [------------]  speaker [------------]  space to talk  |  m mute  space talk  q quit"
        );
        let muted = Status { muted: true, connected: true, ..Status::default() };
        assert!(muted.said(Locale::En).contains("muted"));
        assert!(!muted.said(Locale::En).contains("space"));
        let behind = Status { lost: Duration::from_millis(520), ..muted };
        let behind = behind.said(Locale::En);
        assert!(behind.contains("muted  lost 0.5 s  |"), "{behind}");
        assert!(!muted.said(Locale::En).contains("lost"));
    }
}
