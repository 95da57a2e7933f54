//! Why a valid command was not carried out.

/// Why a valid command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("{waiting} requests wait on this channel already; cancel one or try again later")]
    QueueFull { waiting: usize },
    #[error("this socket only reads; connect without the view flag to send")]
    ReadOnly,
    #[error("another socket holds the microphone")]
    NotHolder,
    #[error("the file was not stored: {reason}")]
    FileRefused { reason: String },
    #[error("the list could not be made: {reason}")]
    ListFailed { reason: String },
    #[error("at most {limit} switches are remembered")]
    TooManyControls { limit: usize },
    #[error("storage does not answer ({reason}); nothing is lost, waiting for it")]
    StoreStalled { reason: String },
    #[error(
        "no question is open for this answer: it was answered before, it has timed out, or its run has ended"
    )]
    NothingToConfirm,
    #[error("this call is dangerous and was not allowed yet: confirm it a second time")]
    ConfirmTwice,
    #[error("too many tool calls failed, so the chat is locked; send /reset to go on")]
    Locked,
    #[error("this is not possible with this agent's work: {reason}")]
    NoChoice { reason: String },
    #[error("the command was not carried out ({reason}); send it again")]
    NotCarriedOut { reason: String },
    #[error("this session was deleted; connect without its id to start a new one")]
    SessionDeleted,
    #[error(
        "the database is damaged, so nothing can be read or stored; `kakehashi doctor` tells the operator what to do"
    )]
    StorageDamaged,
}

impl Problem {
    /// For programs; people get the text.
    pub fn code(&self) -> &'static str {
        match self {
            Self::QueueFull { .. } => "queue_full",
            Self::ReadOnly => "read_only",
            Self::NotHolder => "not_holder",
            Self::FileRefused { .. } => "file_refused",
            Self::ListFailed { .. } => "list_failed",
            Self::TooManyControls { .. } => "too_many_controls",
            Self::StoreStalled { .. } => "store_stalled",
            Self::NothingToConfirm => "nothing_to_confirm",
            Self::ConfirmTwice => "confirm_twice",
            Self::Locked => "locked",
            Self::NoChoice { .. } => "no_choice",
            Self::NotCarriedOut { .. } => "not_carried_out",
            Self::SessionDeleted => "session_deleted",
            Self::StorageDamaged => "storage_damaged",
        }
    }
}
