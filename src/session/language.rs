//! The language of a session: the last one that a participating socket asked for, else the gateway's own. The session
//! and its agents speak it from then on.

use crate::locale::Locale;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared with everything that works for the session.
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
