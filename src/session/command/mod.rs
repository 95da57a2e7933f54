//! Commands of clients: handled in the order in which they came, each once. Answers in plain words are found here.
//! What a command sets off is the business of the other rooms.

pub(super) mod desk;
pub(super) mod plain_answer;
pub(super) mod plain_choice;
pub(super) mod plain_words;
pub(super) mod recent_files;
