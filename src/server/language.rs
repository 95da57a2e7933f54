//! The language of an answer: the one of ours that `Accept-Language` prefers, otherwise the gateway's own.

use super::AppState;
use crate::locale::Locale;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::middleware::Next;
use axum::response::Response;

tokio::task_local! {
    static REQUEST_LOCALE: Locale;
}

/// Middleware: sets the language for everything that handles this request.
pub(super) async fn choose(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let locale = preferred(request.headers()).unwrap_or(state.config.language);
    REQUEST_LOCALE.scope(locale, next.run(request)).await
}

/// The language of the current request; the default language outside of a request.
pub(super) fn of_request() -> Locale {
    REQUEST_LOCALE.try_with(|locale| *locale).unwrap_or_default()
}

/// A one-line text page for browsers.
pub(super) fn plain(name: &str) -> String {
    of_request().say("plain", name, &[]) + "\n"
}

/// Like [`of_request`], with a fallback for code that may run outside of the middleware.
pub(super) fn preferred_or(otherwise: Locale) -> Locale {
    REQUEST_LOCALE.try_with(|locale| *locale).unwrap_or(otherwise)
}

/// `None`: the header is missing or names none of our languages.
pub(super) fn preferred(headers: &HeaderMap) -> Option<Locale> {
    let mut best: Option<(f32, Locale)> = None;
    for value in headers.get_all(ACCEPT_LANGUAGE) {
        for wanted in value.to_str().unwrap_or_default().split(',') {
            let (tag, weight) = wanted.split_once(';').unwrap_or((wanted, ""));
            let weight = weight.trim().strip_prefix("q=").map_or(Some(1.0), |q| q.parse().ok());
            let (Some(locale), Some(weight)) = (Locale::parse(tag.trim()), weight) else {
                continue;
            };
            if weight > best.map_or(0.0, |(best, _)| best) {
                best = Some((weight, locale));
            }
        }
    }
    best.map(|(_, locale)| locale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_wanted_language_is_chosen() {
        for (wanted, expected) in [
            ("en", Some(Locale::En)),
            ("ja-JP,ja;q=0.9,en-US;q=0.8,en;q=0.7", Some(Locale::Ja)),
            ("fr, en;q=0.3, ja;q=0.5", Some(Locale::Ja)),
            ("fr;q=0.9, en-GB;q=0.1", Some(Locale::En)),
            ("ja;q=0, en;q=0.1", Some(Locale::En)),
            ("ja;q=x", None),
            ("fr, *", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_LANGUAGE, wanted.parse().unwrap());
            assert_eq!(preferred(&headers), expected, "{wanted}");
        }
        assert_eq!(preferred(&HeaderMap::new()), None);
    }
}
