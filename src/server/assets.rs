//! The page in `web/`, compiled into the binary, and the security headers of every response.

use super::{AppState, language};
use axum::Router;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue,
    IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::hash::{DefaultHasher, Hash, Hasher};

macro_rules! embedded {
    ($($path:literal,)*) => {
        &[$(($path, include_bytes!(concat!("../../web/", $path)))),*]
    };
}

/// Every file of `web/` with its path; a test compares this list with the directory.
const FILES: &[(&str, &[u8])] = embedded![
    "address.js",
    "agents.css",
    "amount.js",
    "analyst.css",
    "analyst.html",
    "app.js",
    "ask.js",
    "audio-worklets.js",
    "backups.js",
    "base64.js",
    "branch.js",
    "camera.js",
    "captions.js",
    "changes.js",
    "chatwork.js",
    "choices.js",
    "chosen.js",
    "compare.js",
    "composer.js",
    "counters.js",
    "details.js",
    "diff.js",
    "diffview.js",
    "draft.js",
    "element.js",
    "enter.html",
    "enter.js",
    "entry.js",
    "files.js",
    "framer.js",
    "gauge.js",
    "icon.svg",
    "inbox.js",
    "index.html",
    "language.js",
    "ledger.js",
    "liveview.js",
    "login.html",
    "login.js",
    "microphone.js",
    "outbox.js",
    "pane.js",
    "payload.js",
    "plan.js",
    "playout.js",
    "question.js",
    "questionline.js",
    "recipients.js",
    "resampler.js",
    "result.js",
    "ring.js",
    "rows.js",
    "run.js",
    "seen.js",
    "session.js",
    "settings.js",
    "sheet.js",
    "socket.js",
    "speaker.js",
    "status.js",
    "style.css",
    "switches.js",
    "talkbutton.js",
    "toasts.js",
    "tool.js",
    "transcript.js",
    "twostep.js",
    "uplink.js",
    "upload.js",
    "voice.js",
    "voicebar.js",
    "wishes.js",
    "work.js",
    "analyst/address.js",
    "analyst/announcer.js",
    "analyst/app.js",
    "analyst/artifact.js",
    "analyst/askbox.js",
    "analyst/codeblock.js",
    "analyst/confirms.js",
    "analyst/conversation.js",
    "analyst/cursor.js",
    "analyst/datasets.js",
    "analyst/dropzone.js",
    "analyst/duration.js",
    "analyst/examples.js",
    "analyst/inline.js",
    "analyst/lightbox.js",
    "analyst/line.js",
    "analyst/markdown.js",
    "analyst/markdownview.js",
    "analyst/order.js",
    "analyst/python.js",
    "analyst/records.js",
    "analyst/report.js",
    "analyst/slot.js",
    "analyst/state.js",
    "analyst/step.js",
    "analyst/tableview.js",
    "analyst/turn.js",
    "analyst/turnview.js",
    "analyst/upload.js",
    "analyst/uploads.js",
    "analyst/locales/en.js",
    "analyst/locales/ja.js",
    "locales/en.js",
    "locales/ja.js",
    "protocol/agents.js",
    "protocol/aicore.js",
    "protocol/keys.js",
    "protocol/settings.js",
    "protocol/voice.js",
    "smol/app.js",
    "smol/chat.js",
    "smol/closing.js",
    "smol/confirms.js",
    "smol/debug.js",
    "smol/definition.js",
    "smol/dock.js",
    "smol/entry.js",
    "smol/images.js",
    "smol/index.html",
    "smol/keyed.js",
    "smol/lightbox.js",
    "smol/line.js",
    "smol/log.js",
    "smol/map.js",
    "smol/mappane.js",
    "smol/pending.js",
    "smol/picture.js",
    "smol/place.js",
    "smol/points.js",
    "smol/run.js",
    "smol/scene.js",
    "smol/state.js",
    "smol/status.js",
    "smol/style.css",
    "smol/svg.js",
    "smol/transcript.js",
    "smol/words.js",
    "smol/locales/en.js",
    "smol/locales/ja.js",
];

/// Loads nothing from other sites, allows no inline scripts or styles, and forbids framing.
const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; connect-src 'self' ws: wss:; \
    style-src 'self'; script-src 'self'; worker-src 'self' blob:; media-src 'self' blob:; \
    frame-ancestors 'none'; base-uri 'none'";

pub(super) fn routes() -> Router<AppState> {
    Router::new().route(
        "/assets/{*path}",
        get(async |path: Result<Path<String>, PathRejection>, headers: HeaderMap| {
            let path = path.map_or_else(|_| String::new(), |Path(path)| path);
            answer(&path, &headers)
        }),
    )
}

/// Adds the security headers to a response.
pub(super) async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    // A foreign page that the operator has put here has a policy of its own.
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

pub(super) fn answer(path: &str, headers: &HeaderMap) -> Response {
    let Some((name, bytes)) = FILES.iter().find(|(name, _)| *name == path) else {
        return (StatusCode::NOT_FOUND, language::plain("no_such_file")).into_response();
    };
    let tag = tag(bytes);
    let common = [(CACHE_CONTROL, "no-cache"), (ETAG, tag.as_str())];
    if is_known(headers, &tag) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    (common, [(CONTENT_TYPE, content_type(name))], *bytes).into_response()
}

/// An ETag. It does not protect against tampering; it only has to change when the file does.
fn tag(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let sent = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    sent.flat_map(|list| list.split(',')).any(|known| {
        let known = known.trim();
        known == "*" || known.trim_start_matches("W/") == tag
    })
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn every_file_of_the_page_is_served() {
        let web = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("web");
        let mut todo = vec![web.clone()];
        while let Some(dir) = todo.pop() {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&web).unwrap().to_str().unwrap();
                if path.is_dir() {
                    todo.extend((name != "node_modules").then(|| path.clone()));
                } else if !name.contains(".test.") {
                    assert!(
                        FILES.iter().any(|(served, _)| *served == name),
                        "web/{name} is not in FILES"
                    );
                }
            }
        }
    }

    #[test]
    fn every_file_has_a_type() {
        for (name, _) in FILES {
            assert_ne!(content_type(name), "application/octet-stream", "{name}");
        }
    }

    #[test]
    fn a_browser_that_has_the_file_gets_not_modified() {
        let first = answer("app.js", &HeaderMap::new());
        assert_eq!(first.status(), StatusCode::OK);
        let tag = first.headers()[ETAG].to_str().unwrap();
        for known in [tag, "*", &format!("\"x\", W/{tag}")] {
            let headers = HeaderMap::from_iter([(IF_NONE_MATCH, known.parse().unwrap())]);
            assert_eq!(answer("app.js", &headers).status(), StatusCode::NOT_MODIFIED, "{known}");
        }
        let headers = HeaderMap::from_iter([(IF_NONE_MATCH, "\"x\"".parse().unwrap())]);
        assert_eq!(answer("app.js", &headers).status(), StatusCode::OK);
    }

    #[test]
    fn paths_outside_the_table_do_not_exist() {
        for path in ["../Cargo.toml", "/etc/passwd", "", "locales", "app.js/"] {
            assert_eq!(answer(path, &HeaderMap::new()).status(), StatusCode::NOT_FOUND, "{path}");
        }
    }
}
