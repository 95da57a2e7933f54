//! The kinds of stored events. Reading a row matches on [`EventKind`], so the compiler finds a kind that is written but
//! never read.

macro_rules! kinds {
    ($($variant:ident = $name:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum EventKind {
            $($variant,)*
        }

        impl EventKind {
            /// The name in the database. Names are part of the file format and never change.
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// `None`: written by a later version.
            pub(super) fn parse(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    UserText = "user_text",
    UserRequest = "user_request",
    UserFile = "user_file",
    Text = "text",
    RunStarted = "run_started",
    RunLine = "run_line",
    Tool = "tool",
    Plan = "plan",
    RunSummed = "run_summed",
    Chosen = "chosen",
    ConfirmAsked = "confirm_asked",
    ConfirmSettled = "confirm_settled",
    RunEnded = "run_ended",
    FileMade = "file_made",
    RequestAnswered = "request_answered",
    FilesChanged = "files_changed",
    UserTranscript = "heard_user",
    ModelTranscript = "heard_model",
    InterruptedTranscript = "heard_cut",
    CancelTaken = "cancel_taken",
    AgentReport = "agent_report",
    Notice = "notice",
    Work = "work",
    ListBackup = "list_backup",
    ListTemp = "list_temp",
}
