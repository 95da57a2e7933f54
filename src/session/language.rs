//! The language of a session: that of the socket that came last and said one, else the gateway's own. What the session
//! and its agents say from then on is in it.

use crate::locale::Locale;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared with whoever works for the session.
#[derive(Debug, Clone)]
pub(crate) struct Language {
    is_english: Arc<AtomicBool>,
}

impl Language {
    pub(super) fn new(locale: Locale) -> Self {
        Self { is_english: Arc::new(AtomicBool::new(locale == Locale::En)) }
    }

    pub(super) fn get(&self) -> Locale {
        if self.is_english.load(Ordering::Relaxed) { Locale::En } else { Locale::Ja }
    }

    pub(super) fn set(&self, locale: Locale) {
        self.is_english.store(locale == Locale::En, Ordering::Relaxed);
    }
}
