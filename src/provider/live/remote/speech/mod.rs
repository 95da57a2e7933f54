//! What is heard and said, as sound and as text: the microphone, whose turn it is, how much of a reply was heard, the
//! transcript, and the history for a new connection. Each file is a state machine of its own that is told the time. None
//! knows sockets, vendors or the other files.

pub(super) mod history;
pub(super) mod microphone;
pub(super) mod spoken_reply;
pub(super) mod transcript;
pub(super) mod turn_taking;
