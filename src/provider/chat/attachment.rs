//! Files that a user sent along: pictures become pictures, short texts are quoted between fences, and of the rest only
//! the name is told. None of it is what the user says.

use super::picture::{Picture, picture};
use crate::message::{attached, one_line};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Larger files are not read.
const LARGEST_FILE: u64 = 32 * 1024 * 1024;
/// Longer texts are named, not quoted.
const LONGEST_TEXT: usize = 64 * 1024;
/// All quoted texts of one request together.
const LONGEST_TEXTS: usize = 256 * 1024;

/// The text with what is to be said about the files, and the pictures among them.
pub(super) fn read(mut text: String, paths: &[PathBuf], images: bool) -> (String, Vec<Picture>) {
    let mut pictures = Vec::new();
    let mut room = LONGEST_TEXTS;
    for path in paths {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let name = one_line(&name);
        let note = match load(path) {
            None => format!("[attached file {name}, which cannot be read]"),
            Some(bytes) => match picture(&bytes) {
                Some(picture) if images => {
                    pictures.push(picture);
                    format!("[attached picture {name}]")
                }
                Some(_) => format!("[attached picture {name}, which this model cannot see]"),
                None => match quotable(&bytes, room) {
                    Some(content) => {
                        room -= content.len();
                        attached(&name, content)
                    }
                    None => format!("[attached file {name}, {} bytes, not shown]", bytes.len()),
                },
            },
        };
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&note);
    }
    (text, pictures)
}

fn load(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    let length = file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).ok()?;
    (u64::try_from(length).ok()? <= LARGEST_FILE).then_some(bytes)
}

fn quotable(bytes: &[u8], room: usize) -> Option<&str> {
    let fits = bytes.len() <= LONGEST_TEXT.min(room) && !bytes.contains(&0);
    std::str::from_utf8(bytes).ok().filter(|_| fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_quoted_and_others_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let paths = [
            file("a.txt", b"one\ntwo\n"),
            file("b.bin", b"\0\x01"),
            file("c.txt", &vec![b'x'; LONGEST_TEXT + 1]),
            dir.path().join("gone"),
        ];
        let (text, pictures) = read("Look".to_owned(), &paths, true);
        let quoted = attached("a.txt", "one\ntwo\n");
        assert_eq!(
            text,
            format!(
                "Look\n\n{quoted}\n\n[attached file b.bin, 2 bytes, not shown]\n\n\
                 [attached file c.txt, 65537 bytes, not shown]\n\n[attached file gone, which cannot be read]"
            )
        );
        assert_eq!(pictures, []);
    }

    #[test]
    fn texts_together_are_limited() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("long.txt");
        std::fs::write(&path, vec![b'x'; LONGEST_TEXT]).unwrap();
        let (text, _) = read(String::new(), &vec![path; 6], true);
        assert_eq!(text.matches("[attached file long.txt;").count(), 4);
        assert_eq!(text.matches("not shown").count(), 2);
    }
}
