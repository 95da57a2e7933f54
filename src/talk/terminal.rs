//! A terminal that hands over every key at once and shows one line at its bottom that changes. Left as it was found.

use super::keyboard::{AS_BEFORE, ASK, Key, Keyboard, TELL};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};
use std::io::{self, Read, Write, stdin, stdout};
use tokio::sync::mpsc;

/// Keys that nobody has read yet. Full: the keyboard waits.
const KEY_CAPACITY: usize = 16;
/// For a terminal that does not say how wide it is.
const USUAL_WIDTH: usize = 80;

/// Dropped: the terminal is as it was.
#[derive(Debug)]
pub(super) struct Terminal {
    before: Termios,
    tells_release: bool,
}

impl Terminal {
    pub(super) fn take() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Somebody who stopped us would find a shell without an echo.
        raw.special_codes[SpecialCodeIndex::VSUSP] = 0;
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        let terminal = Self { before, tells_release: false };
        terminal.write(ASK)?;
        Ok(terminal)
    }

    /// The terminal can tell when keys are let go, and shall.
    pub(super) fn tell_release(&mut self) -> io::Result<()> {
        if !self.tells_release {
            self.write(TELL)?;
            self.tells_release = true;
        }
        Ok(())
    }

    /// A line above the status.
    pub(super) fn line(&self, text: &str) -> io::Result<()> {
        self.write(&format!("\r\x1b[K{text}\n"))
    }

    pub(super) fn status(&self, text: &str) -> io::Result<()> {
        let width = tcgetwinsize(stdout()).map_or(0, |size| usize::from(size.ws_col));
        let width = if width == 0 { USUAL_WIDTH } else { width };
        let text: String = text.chars().take(width - 1).collect();
        self.write(&format!("\r\x1b[K{text}"))
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let mut out = stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that is gone needs no care.
        let _ = self.write("\r\x1b[K");
        if self.tells_release {
            let _ = self.write(AS_BEFORE);
        }
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

/// Reads keys on a thread of its own, which ends with the process: a read from a terminal cannot be given up.
pub(super) fn keys() -> io::Result<mpsc::Receiver<Key>> {
    let (sender, receiver) = mpsc::channel(KEY_CAPACITY);
    std::thread::Builder::new().name("talk-keys".to_owned()).spawn(move || {
        let mut keyboard = Keyboard::default();
        for byte in stdin().lock().bytes().map_while(Result::ok) {
            if let Some(key) = keyboard.push(byte)
                && sender.blocking_send(key).is_err()
            {
                return;
            }
        }
    })?;
    Ok(receiver)
}
