//! One line of a prompt for the scripted agent.

use std::time::Duration;

const MOST_LINES: u32 = 1_000_000;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// `say TEXT`: one more line of the answer.
    Say(&'a str),
    /// `stream N`: that many lines of progress.
    Stream(u32),
    /// `sleep SECONDS`, fractions allowed.
    Sleep(Duration),
    /// `write PATH TEXT`, with `\n` for a line end.
    Write { path: &'a str, text: &'a str },
    /// `read PATH`: its lines as progress.
    Read(&'a str),
    /// `run COMMAND` in a shell.
    Run(&'a str),
    /// `ask TEXT`: asks for permission and goes on with any decision.
    Ask(&'a str),
    /// `fail TEXT`: the prompt fails for this reason.
    Fail(&'a str),
    /// `image PATH`: makes a small picture.
    Image(&'a str),
    /// Any other line.
    Echo(&'a str),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum StepError {
    #[error("stream takes a number of lines up to {MOST_LINES}, not `{0}`")]
    Count(String),
    #[error("sleep takes seconds like 0.5, not `{0}`")]
    Seconds(String),
}

impl<'a> Step<'a> {
    pub(super) fn parse(line: &'a str) -> Result<Self, StepError> {
        let Some((word, rest)) = line.split_once(' ') else { return Ok(Self::Echo(line)) };
        Ok(match word {
            "say" => Self::Say(rest),
            "stream" => Self::Stream(count(rest)?),
            "sleep" => Self::Sleep(seconds(rest)?),
            "write" => {
                let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
                Self::Write { path, text }
            }
            "read" => Self::Read(rest.trim_end()),
            "run" => Self::Run(rest),
            "ask" => Self::Ask(rest),
            "fail" => Self::Fail(rest),
            "image" => Self::Image(rest.trim_end()),
            _ => Self::Echo(line),
        })
    }
}

fn count(text: &str) -> Result<u32, StepError> {
    let count = text.trim().parse().ok().filter(|count| *count <= MOST_LINES);
    count.ok_or_else(|| StepError::Count(text.to_owned()))
}

fn seconds(text: &str) -> Result<Duration, StepError> {
    let seconds =
        text.trim().parse().ok().and_then(|number| Duration::try_from_secs_f64(number).ok());
    seconds.ok_or_else(|| StepError::Seconds(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        check("say a  b", Step::Say("a  b"));
        check("stream 3", Step::Stream(3));
        check("sleep 0.25", Step::Sleep(Duration::from_millis(250)));
        check("write a/b.txt x y", Step::Write { path: "a/b.txt", text: "x y" });
        check("write empty", Step::Write { path: "empty", text: "" });
        check("read a b ", Step::Read("a b"));
        check("run ls | wc", Step::Run("ls | wc"));
        check("ask rm -r x", Step::Ask("rm -r x"));
        check("fail on purpose", Step::Fail("on purpose"));
        check("image x.png", Step::Image("x.png"));
    }

    #[test]
    fn everything_else_is_an_echo() {
        for line in ["", "say", "hello there", " say x", "SAY x"] {
            check(line, Step::Echo(line));
        }
    }

    #[test]
    fn bad_numbers_are_named() {
        assert_eq!(Step::parse("stream 1000001"), Err(StepError::Count("1000001".to_owned())));
        assert_eq!(Step::parse("stream -1"), Err(StepError::Count("-1".to_owned())));
        assert_eq!(Step::parse("sleep long"), Err(StepError::Seconds("long".to_owned())));
        assert_eq!(Step::parse("sleep inf"), Err(StepError::Seconds("inf".to_owned())));
    }

    #[track_caller]
    fn check(line: &str, expected: Step<'_>) {
        assert_eq!(Step::parse(line), Ok(expected));
    }
}
