//! `kakehashi talk`: a client of the gateway with a microphone and a speaker, or with two files in their place. Knows
//! nothing of the gateway but its wire.

mod address;
mod backoff;
#[cfg(feature = "mic")]
mod card;
mod conversation;
mod device;
mod dial;
mod error;
mod keyboard;
mod ledger;
mod level;
mod line;
mod outbox;
mod playout;
mod screen;
mod seam;
mod speaker;
mod terminal;
mod wav;

pub use address::Address;
pub use error::TalkError;
pub use wav::Files;

use crate::locale::Locale;
use speaker::Speaker;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Whether this build can use sound cards.
pub const HAS_CARDS: bool = cfg!(feature = "mic");

/// With whom and how.
#[derive(Debug)]
pub struct Plan {
    pub address: Address,
    pub token: Option<String>,
    /// `None` begins a new session.
    pub session: Option<String>,
    /// Language of the gateway's own texts, and of ours.
    pub language: Locale,
    /// Nothing is sent but while the key is held.
    pub push_to_talk: bool,
    /// The microphone is silent while the speaker is not: for whoever would hear himself.
    pub half_duplex: bool,
}

/// Where sound comes from and goes to.
#[derive(Debug)]
pub enum Sound {
    Card(Card),
    Files(Files),
}

/// A sound card, by the names of its devices; without one, the default.
#[derive(Debug, Default)]
pub struct Card {
    pub input: Option<String>,
    pub output: Option<String>,
    /// Takes what the speaker plays out of what the microphone hears.
    pub cancel_echo: bool,
}

/// Talks until it is stopped.
pub async fn run(plan: Plan, sound: Sound, stop: CancellationToken) -> Result<(), TalkError> {
    let speaker = Arc::new(Speaker::default());
    let device = match sound {
        Sound::Files(files) => wav::open(&files, Arc::clone(&speaker))?,
        #[cfg(feature = "mic")]
        Sound::Card(card) => card::open(card, Arc::clone(&speaker)).await?,
        #[cfg(not(feature = "mic"))]
        Sound::Card(_) => return Err(TalkError::Unbuilt),
    };
    conversation::hold(plan, device, speaker, stop).await
}

/// One line for every device, as `--input` and `--output` take it.
pub fn devices() -> Result<Vec<String>, TalkError> {
    #[cfg(feature = "mic")]
    return card::names();
    #[cfg(not(feature = "mic"))]
    Err(TalkError::Unbuilt)
}
