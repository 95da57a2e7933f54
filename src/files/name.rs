//! Names that are safe on every file system, made out of names that users chose.

use crate::message::Principal;

/// Leaves room for a time stamp and a number below the usual limit of 255 bytes.
const LONGEST_NAME: usize = 120;
/// A longer ending is part of the name rather than its kind.
const LONGEST_EXTENSION: usize = 20;
const LONGEST_DIRECTORY: usize = 200;
const DEVICES: [&str; 7] = ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"];

/// The last component of what a client calls its file, without anything a file system or a terminal could trip
/// over. Never empty.
pub(super) fn safe_name(name: &str) -> String {
    let base = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String =
        base.chars().filter(|letter| !is_invisible(*letter)).map(printable).collect();
    let clean = clean.trim_start_matches(|letter: char| letter == '.' || letter.is_whitespace());
    let clean = trim_end(clean);
    let mut safe = shorten(clean);
    if safe.is_empty() {
        safe.push_str("file");
    }
    if is_device(&safe) {
        safe.insert(0, '_');
    }
    safe
}

/// `name.ext` becomes the parts before and after the last dot; the second keeps its dot.
pub(super) fn split_extension(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(dot) if dot > 0 && name.len() - dot <= LONGEST_EXTENSION => name.split_at(dot),
        _ => (name, ""),
    }
}

/// The beginning of a text, not cut within a character.
pub(super) fn cut(text: &str, longest: usize) -> &str {
    let end = (0..=longest.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// A directory name for one user. Different users get different names, also where case does not count.
pub(super) fn principal_dir(principal: &Principal) -> String {
    let name = principal.as_str();
    let mut directory = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        let inner_dot = byte == b'.' && at > 0 && at + 1 < name.len();
        // A device name is broken by escaping its first letter.
        let plain =
            matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-') && (at > 0 || !is_device(name));
        if plain || inner_dot {
            directory.push(char::from(byte));
        } else {
            directory.push_str(&format!("%{byte:02x}"));
        }
    }
    match directory.len() {
        0 => "%".to_owned(),
        1..=LONGEST_DIRECTORY => directory,
        // `%+` appears in no escaped name, so a shortened one cannot meet another user's.
        _ => format!("{}%+{:016x}", &directory[..LONGEST_DIRECTORY / 2], fingerprint(name)),
    }
}

/// Control characters, and those that make a name look like another one.
fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn printable(letter: char) -> char {
    if matches!(letter, '<' | '>' | ':' | '"' | '|' | '?' | '*') { '_' } else { letter }
}

fn trim_end(name: &str) -> &str {
    name.trim_end_matches(|letter: char| letter == '.' || letter.is_whitespace())
}

fn shorten(name: &str) -> String {
    let (stem, extension) = split_extension(name);
    format!("{}{extension}", trim_end(cut(stem, LONGEST_NAME - extension.len())))
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let numbered = |kind| {
        stem.strip_prefix(kind)
            .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

/// FNV-1a; the same on every version of the gateway, which the standard library's hashes do not promise.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_last_component_counts() {
        check("../../etc/passwd", "passwd");
        check("..\\x", "x");
        check("/abs", "abs");
        check("C:\\Users\\me\\a.txt", "a.txt");
        check("a/../b", "b");
        check("a/..", "file");
        check("directory/", "file");
    }

    #[test]
    fn odd_characters_do_not_survive() {
        check("a\0b\n.txt", "ab.txt");
        check("a:b*c?.txt", "a_b_c_.txt");
        check("..hidden", "hidden");
        check("trailing. . ", "trailing");
        check("exe\u{202e}txt.exe", "exetxt.exe");
        check("", "file");
        check(".", "file");
        check("\0", "file");
    }

    #[test]
    fn devices_become_files() {
        check("CON", "_CON");
        check("nul.txt", "_nul.txt");
        check("Com1", "_Com1");
        check("LPT9.tar.gz", "_LPT9.tar.gz");
        check("console", "console");
        check("com10", "com10");
    }

    #[test]
    fn other_scripts_stay() {
        check("\u{8b70}\u{4e8b}\u{9332} 1.pdf", "\u{8b70}\u{4e8b}\u{9332} 1.pdf");
    }

    #[test]
    fn long_names_keep_their_extension() {
        check(&("a".repeat(10_000) + ".jpeg"), &("a".repeat(115) + ".jpeg"));
        let japanese = safe_name(&("\u{3042}".repeat(10_000) + ".png"));
        assert_eq!(japanese, "\u{3042}".repeat(38) + ".png");
        assert_eq!(safe_name(&format!("a.{}", "b".repeat(10_000))).len(), LONGEST_NAME);
    }

    #[test]
    fn users_get_directories_of_their_own() {
        for (name, expected) in [
            ("local", "local"),
            ("ann.b-c_1", "ann.b-c_1"),
            ("Ann", "%41nn"),
            ("a/b", "a%2fb"),
            ("..", "%2e%2e"),
            ("", "%"),
            ("con", "%63on"),
            ("a%2fb", "a%252fb"),
        ] {
            assert_eq!(principal_dir(&Principal::new(name)), expected);
        }
        let long = |last: &str| principal_dir(&Principal::new(&("x".repeat(300) + last)));
        assert_ne!(long("a"), long("b"));
        assert!(long("a").len() <= LONGEST_DIRECTORY);
    }

    proptest! {
        #[test]
        fn every_name_is_one_safe_component(name in "\\PC*|.*|[./\\\\ a:]*") {
            let safe = safe_name(&name);
            prop_assert!(!safe.is_empty() && safe.len() <= LONGEST_NAME + 1);
            prop_assert!(!safe.starts_with('.') && !safe.contains(['/', '\\', '\0']));
            prop_assert_eq!(safe_name(&safe), safe);
        }
    }

    #[track_caller]
    fn check(name: &str, expected: &str) {
        assert_eq!(safe_name(name), expected);
    }
}
