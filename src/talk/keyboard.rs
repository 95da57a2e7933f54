//! Keys out of the bytes of a terminal. Most terminals tell only that a key was pressed; those that speak the kitty
//! keyboard protocol also tell when it is let go.

/// What a person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Mute,
    /// The key for talking went down, and this terminal will tell when it comes up.
    Down,
    Up,
    /// The key for talking, on a terminal that cannot tell how long.
    Toggle,
    Quit,
    /// The terminal says that it can tell when keys are let go.
    CanTell,
}

/// Asks the terminal whether it can tell when keys are let go.
pub(super) const ASK: &str = "\x1b[?u";
/// Every key as a number, with its kind of event.
pub(super) const TELL: &str = "\x1b[>11u";
pub(super) const AS_BEFORE: &str = "\x1b[<u";

const ESCAPE: u8 = 0x1b;
/// Longer than anything that a terminal says about a key.
const LONGEST: usize = 32;

/// Reads one terminal.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    sequence: Vec<u8>,
}

impl Keyboard {
    pub(super) fn push(&mut self, byte: u8) -> Option<Key> {
        match self.sequence[..] {
            [] if byte == ESCAPE => self.sequence.push(byte),
            [] => return typed(u32::from(byte)),
            [_] if byte == b'[' => self.sequence.push(byte),
            // Alt and a key, or the escape key itself: nothing of ours.
            [_] => self.sequence.clear(),
            _ if (0x40..0x7f).contains(&byte) => {
                let sequence = std::mem::take(&mut self.sequence);
                return (byte == b'u').then(|| numbered(&sequence[2..])).flatten();
            }
            _ if self.sequence.len() >= LONGEST => self.sequence.clear(),
            _ => self.sequence.push(byte),
        }
        None
    }
}

fn typed(code: u32) -> Option<Key> {
    match char::from_u32(code)? {
        'm' | 'M' => Some(Key::Mute),
        ' ' => Some(Key::Toggle),
        // Control and C or D.
        'q' | 'Q' | '\x03' | '\x04' => Some(Key::Quit),
        _ => None,
    }
}

/// `CODE;MODIFIERS:EVENT`, or the answer `?FLAGS`.
fn numbered(parameters: &[u8]) -> Option<Key> {
    let text = std::str::from_utf8(parameters).ok()?;
    if text.starts_with('?') {
        return Some(Key::CanTell);
    }
    let mut fields = text.split(';');
    let code: u32 = fields.next()?.split(':').next()?.parse().ok()?;
    let mut modifiers = fields.next().unwrap_or("1").split(':');
    let modifiers_held: u32 = modifiers.next().and_then(|held| held.parse().ok()).unwrap_or(1);
    let (control, event) = (modifiers_held.saturating_sub(1) & 4 != 0, modifiers.next());
    let pressed = matches!(event, None | Some("1"));
    match char::from_u32(code)? {
        ' ' if pressed => Some(Key::Down),
        ' ' if event == Some("3") => Some(Key::Up),
        'c' | 'd' if control && pressed => Some(Key::Quit),
        _ if pressed && !control => typed(code),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &str) -> Vec<Key> {
        let mut keyboard = Keyboard::default();
        bytes.bytes().filter_map(|byte| keyboard.push(byte)).collect()
    }

    #[test]
    fn plain_terminals_tell_presses() {
        assert_eq!(keys("m x q"), [Key::Mute, Key::Toggle, Key::Toggle, Key::Quit]);
        assert_eq!(keys("\x03"), [Key::Quit]);
    }

    #[test]
    fn arrows_and_other_sequences_are_no_keys_of_ours() {
        assert_eq!(keys("\x1b[A\x1b[1;5C\x1bm\x1b[?62;4c"), []);
        assert_eq!(keys("\x1b[200~q"), [Key::Quit]);
    }

    #[test]
    fn terminals_that_can_tell_the_release_are_believed() {
        assert_eq!(keys("\x1b[?0u"), [Key::CanTell]);
        let held = "\x1b[32;1:1u\x1b[32;1:2u\x1b[32;1:3u";
        assert_eq!(keys(held), [Key::Down, Key::Up]);
        assert_eq!(keys("\x1b[109u\x1b[109;1:3u"), [Key::Mute]);
        assert_eq!(keys("\x1b[99;5u"), [Key::Quit]);
        assert_eq!(keys("\x1b[99u\x1b[0;0u"), []);
    }

    #[test]
    fn endless_sequences_are_given_up() {
        assert_eq!(keys(&format!("\x1b[{}q", ";".repeat(40))).last(), Some(&Key::Quit));
    }
}
