//! A shell script as a tree: what POSIX shells, bash and zsh have in common, as far as it says what runs.

/// Several commands, one after another.
pub(super) type Script = Vec<Sequence>;

/// Pipelines that depend on one another: `a && b || c`.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) first: Pipeline,
    pub(super) rest: Vec<(Link, Pipeline)>,
    pub(super) in_background: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    And,
    Or,
}

pub(super) type Pipeline = Vec<Stage>;

/// One command of a pipeline.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) command: Command,
    pub(super) redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub(super) enum Command {
    Simple {
        assignments: Vec<Assignment>,
        words: Vec<Word>,
    },
    /// `( ... )`: what it changes is lost afterwards.
    Subshell(Script),
    Group(Script),
    /// `if` and `case`: conditions and branches, of which some run.
    Branches {
        words: Vec<Word>,
        parts: Vec<Script>,
    },
    Loop {
        /// What `for` goes through.
        variable: Option<(String, Vec<Word>)>,
        parts: Vec<Script>,
    },
    Function {
        name: String,
        body: std::rc::Rc<Stage>,
    },
    /// `[[ ... ]]` and `(( ... ))`: nothing runs but what is substituted.
    Test {
        words: Vec<Word>,
        /// Where a shell knows no `((`, these are two subshells.
        inner: Option<String>,
    },
}

#[derive(Debug)]
pub(super) struct Assignment {
    pub(super) name: String,
    /// `None`: an array, or added to what is there.
    pub(super) value: Option<Word>,
    /// What is substituted in those.
    pub(super) others: Vec<Word>,
}

#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) kind: RedirectKind,
    pub(super) word: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedirectKind {
    /// `<` and `<>`
    Read,
    /// `>`, `>>`, `&>` and the like
    Write,
    /// `<<` and `<<<`: the word is what is read.
    Here,
    /// `>&2`
    Duplicate,
}

pub(super) type Word = Vec<Part>;

#[derive(Debug)]
pub(super) enum Part {
    Text {
        text: String,
        quoted: bool,
    },
    Variable {
        name: String,
        /// What stands for it where it has no value, as in `${name:-other}`.
        other: Option<Word>,
        /// `${name:=other}`
        assigns: bool,
        quoted: bool,
    },
    Substitution {
        script: Script,
        quoted: bool,
    },
    /// `<( ... )`
    Process(Script),
    /// What nobody can know beforehand. The words are those within it, for what they substitute.
    Unknown(Vec<Word>),
}

/// The text, if it is written plainly and without quotes.
pub(super) fn plain(word: &[Part]) -> Option<&str> {
    match word {
        [Part::Text { text, quoted: false }] => Some(text),
        _ => None,
    }
}
