//! Cuts what an agent thinks and says into lines.

/// In bytes. Longer text without a line end is shown as it is.
const LONGEST_LINE: usize = 4 * 1024;

/// What happens to the last line if it is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Rest {
    Kept,
    /// Nothing more will be added to it.
    Told,
}

/// Takes the complete lines out of `text`.
pub(super) fn whole_lines(text: &mut String) -> Vec<String> {
    take_whole(text).lines().map(str::to_owned).collect()
}

/// Adds `more` to `waiting` and takes the complete lines out as one text, without line ends around it.
pub(super) fn told_lines(waiting: &mut String, more: &str, rest: Rest) -> String {
    waiting.push_str(more);
    let whole = match rest {
        Rest::Kept => take_whole(waiting),
        Rest::Told => std::mem::take(waiting),
    };
    whole.trim_matches('\n').to_owned()
}

fn take_whole(text: &mut String) -> String {
    let end = match text.rfind('\n') {
        Some(end) => end + 1,
        None if text.len() > LONGEST_LINE => text.len(),
        None => return String::new(),
    };
    let rest = text.split_off(end);
    std::mem::replace(text, rest)
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

    #[test]
    fn a_line_that_nobody_goes_on_with_is_told() {
        let mut waiting = String::new();
        assert_eq!(told_lines(&mut waiting, "I look", Rest::Kept), "");
        assert_eq!(told_lines(&mut waiting, " around.", Rest::Told), "I look around.");
        assert_eq!(told_lines(&mut waiting, "\n\nNow\n\nI e", Rest::Kept), "Now");
        assert_eq!(told_lines(&mut waiting, "dit.\n", Rest::Kept), "I edit.");
        assert_eq!(told_lines(&mut waiting, "", Rest::Told), "");
    }
}
