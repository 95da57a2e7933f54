//! Commands of clients: handled in the order of their arrival, each once. Plain-word answers are recognized here. Knows
//! nothing of how the other rooms carry a command out.

pub(super) mod desk;
pub(super) mod plain_answer;
pub(super) mod plain_choice;
pub(super) mod plain_words;
pub(super) mod recent_files;
