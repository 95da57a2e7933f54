//! Gathers what the parent in the closed view hands over. It may have been taken over by what it has started, so
//! everything is counted and looked at once more here.

use super::answer::{OutputFile, OutputKind, Skipped};
use super::boxed::Limits;

const LONGEST_NAME: usize = 120;

/// What an action has said so far, and the files that came out of it.
#[derive(Debug)]
pub(super) struct Gathered {
    said: String,
    /// The beginning of a letter whose rest has not come yet.
    partial: Vec<u8>,
    room: usize,
    pub(super) cut: u64,
    pub(super) outputs: Vec<OutputFile>,
    pub(super) skipped: Vec<Skipped>,
    most_outputs: usize,
    bytes_left: usize,
}

impl Gathered {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            said: String::new(),
            partial: Vec::new(),
            room: limits.output,
            cut: 0,
            outputs: Vec::new(),
            skipped: Vec::new(),
            most_outputs: limits.outputs,
            bytes_left: usize::try_from(limits.output_total).unwrap_or(usize::MAX),
        }
    }

    /// The part of it that can be shown.
    pub(super) fn say(&mut self, bytes: &[u8]) -> &str {
        let taken = bytes.get(..self.room).unwrap_or(bytes);
        self.room -= taken.len();
        self.cut += u64::try_from(bytes.len() - taken.len()).unwrap_or(0);
        self.partial.extend_from_slice(taken);
        let whole = match std::str::from_utf8(&self.partial) {
            // A letter has up to four bytes; what is longer will never be one.
            Err(err) if err.error_len().is_none() => err.valid_up_to(),
            Err(_) | Ok(_) => self.partial.len(),
        };
        let start = self.said.len();
        let rest = self.partial.split_off(whole);
        self.said.push_str(&String::from_utf8_lossy(&self.partial));
        self.partial = rest;
        &self.said[start..]
    }

    /// The end of what it said.
    pub(super) fn end(&mut self, cut: u64, bytes: &[u8]) {
        if cut > 0 {
            self.said.push_str(&String::from_utf8_lossy(&self.partial));
            self.partial.clear();
            self.said.push_str(&format!("\n[... {cut} bytes are left out ...]\n"));
        }
        self.cut += cut;
        self.say(bytes);
    }

    pub(super) fn file(&mut self, name: String, bytes: Vec<u8>) {
        let refused = |why: &str| Skipped { name: name.clone(), why: why.to_owned() };
        if !is_plain(&name) || self.outputs.iter().any(|one| one.name == name) {
            let name = name.chars().take(LONGEST_NAME).collect();
            self.skip(Skipped { name, why: "name".to_owned() });
        } else if self.outputs.len() >= self.most_outputs {
            self.skip(refused("many"));
        } else if bytes.len() > self.bytes_left {
            self.skip(refused("total"));
        } else {
            self.bytes_left -= bytes.len();
            self.outputs.push(OutputFile { kind: OutputKind::of(&name), name, bytes });
        }
    }

    pub(super) fn skip(&mut self, skipped: Skipped) {
        const MOST: usize = 100;
        if self.skipped.len() < MOST {
            self.skipped.push(skipped);
        }
    }

    pub(super) fn said(&mut self) -> String {
        self.said.push_str(&String::from_utf8_lossy(&self.partial));
        std::mem::take(&mut self.said)
    }
}

/// A name without a path that every system takes, and that no program takes for an option or hides.
pub(super) fn is_plain(name: &str) -> bool {
    const REFUSED: &str = "/\\:*?\"<>|";
    let is_fine = |letter: char| !letter.is_control() && !REFUSED.contains(letter);
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.chars().all(is_fine)
        && !name.starts_with(['.', '-', '~', ' '])
        && !name.ends_with(['.', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_are_cut_between_frames_come_whole() {
        let mut gathered = Gathered::new(&Limits::default());
        let bytes = "\u{58f2}\u{4e0a}".as_bytes();
        assert_eq!(gathered.say(&bytes[..4]), "\u{58f2}");
        assert_eq!(gathered.say(&bytes[4..]), "\u{4e0a}");
        assert_eq!(gathered.say(b"\xff!"), "\u{fffd}!");
        gathered.end(7, b"end");
        assert_eq!(
            gathered.said(),
            "\u{58f2}\u{4e0a}\u{fffd}!\n[... 7 bytes are left out ...]\nend"
        );
        assert_eq!(gathered.cut, 7);
    }

    #[test]
    fn no_more_is_taken_than_allowed_whatever_is_sent() {
        let limits = Limits { output: 4, outputs: 2, output_total: 5, ..Limits::default() };
        let mut gathered = Gathered::new(&limits);
        gathered.say(b"abcdef");
        gathered.end(0, b"gh");
        assert_eq!((gathered.said().as_str(), gathered.cut), ("abcd", 4));
        for (name, bytes) in
            [("../x", "1"), ("a", "123"), ("a", "1"), ("b", "123"), ("c", "12"), ("d", "")]
        {
            gathered.file(name.to_owned(), bytes.into());
        }
        let names: Vec<_> = gathered.outputs.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "c"]);
        let why: Vec<_> = gathered.skipped.iter().map(|one| one.why.as_str()).collect();
        assert_eq!(why, ["name", "name", "total", "many"]);
    }

    #[test]
    fn names_are_plain() {
        for name in ["\u{58f2}\u{4e0a}.png", "a b.csv", "x"] {
            assert!(is_plain(name), "{name}");
        }
        let long = "x".repeat(121);
        for name in ["", "a/b", "..", ".x", "-x", "a\nb", "a\\b", "c:", "x.", long.as_str()] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
