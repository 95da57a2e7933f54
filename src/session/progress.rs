//! What an agent thinks, line by line.

/// A thought without line ends is shown in pieces of this size.
const LONGEST_LINE: usize = 4 * 1024;

/// Takes the lines that are complete.
pub(super) fn whole_lines(text: &mut String) -> Vec<String> {
    let end = match text.rfind('\n') {
        Some(end) => end + 1,
        None if text.len() > LONGEST_LINE => text.len(),
        None => return Vec::new(),
    };
    let rest = text.split_off(end);
    let whole = std::mem::replace(text, rest);
    whole.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_are_taken() {
        let mut text = "one\ntwo\nthr".to_owned();
        assert_eq!(whole_lines(&mut text), ["one", "two"]);
        assert_eq!(text, "thr");
        assert!(whole_lines(&mut text).is_empty());
        let mut long = "x".repeat(LONGEST_LINE + 1);
        assert_eq!(whole_lines(&mut long).len(), 1);
        assert!(long.is_empty());
    }
}
