//! Files of the page: our own, compiled in, or those of the directory that the operator has named. Of `/backend/` there
//! are only the plan, the rooms and the arrows.

use super::super::caller::Visitor;
use super::super::{AppState, assets, language};
use super::drawing;
use crate::dialect::smol;
use crate::message::floor::{Bitmap, Floor};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path as UrlPath, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::path::Path;
use tokio::task::spawn_blocking;

const ROOMS: &str = "OSM_floor-plan-rectangles.json";

/// Longest file of a foreign page that is served, in bytes.
const LARGEST: u64 = 32 * 1024 * 1024;
/// A foreign page may have styles and scripts in its HTML, and loads nothing from elsewhere.
const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; connect-src 'self' ws: wss:; \
    style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
/// In the document's words.
const NO_PAGE: &str = "<h1>Frontend not found</h1>";

pub(super) async fn index(state: &AppState, headers: &HeaderMap) -> Response {
    match &state.config.smol.page {
        None => assets::answer("smol/index.html", headers),
        Some(directory) => match foreign(directory, "index.html").await {
            Some(response) => response,
            None => ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], NO_PAGE).into_response(),
        },
    }
}

/// A file of our own page.
async fn own(path: Result<UrlPath<String>, PathRejection>, headers: HeaderMap) -> Response {
    match path {
        Ok(UrlPath(path)) => assets::answer(&format!("smol/{path}"), &headers),
        Err(_) => missing(),
    }
}

/// A file of the page that is served. Those of a foreign page are for those who are logged in.
pub(super) async fn of_page(
    State(state): State<AppState>,
    Visitor(visitor): Visitor,
    path: Result<UrlPath<String>, PathRejection>,
    headers: HeaderMap,
) -> Response {
    match (&state.config.smol.page, path) {
        (None, path) => own(path, headers).await,
        (Some(_), _) if visitor.is_err() => StatusCode::UNAUTHORIZED.into_response(),
        (Some(directory), Ok(UrlPath(path))) => {
            foreign(directory, &path).await.unwrap_or_else(missing)
        }
        (Some(_), Err(_)) => missing(),
    }
}

/// A file below the directory of a foreign page; `None`: there is no such file.
async fn foreign(directory: &Path, path: &str) -> Option<Response> {
    let (directory, path) = (directory.to_owned(), path.to_owned());
    let kind = media_type(&path);
    let bytes = spawn_blocking(move || read_below(&directory, &path)).await.ok()??;
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "private, no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    Some((headers, bytes).into_response())
}

/// Blocking. Neither a path nor a link leads out of the directory, and hidden files are not served.
fn read_below(directory: &Path, path: &str) -> Option<Vec<u8>> {
    let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('\\');
    if !path.split('/').all(is_plain) {
        return None;
    }
    let root = directory.canonicalize().ok()?;
    let file = root.join(path).canonicalize().ok().filter(|file| file.starts_with(&root))?;
    let about = file.metadata().ok()?;
    if !about.is_file() || about.len() > LARGEST {
        return None;
    }
    std::fs::read(file).ok()
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("bmp") => "image/bmp",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some(_) | None => "application/octet-stream",
    }
}

pub(super) async fn data(
    Visitor(visitor): Visitor,
    name: Result<UrlPath<String>, PathRejection>,
) -> Response {
    if visitor.is_err() {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    match name {
        Ok(UrlPath(name)) if name == Floor::First.picture() => answer("image/png", drawing::plan()),
        Ok(UrlPath(name)) if name == ROOMS => {
            answer("application/json", smol::rectangles().to_string())
        }
        Ok(_) | Err(_) => missing(),
    }
}

pub(super) async fn bitmap(
    Visitor(visitor): Visitor,
    name: Result<UrlPath<String>, PathRejection>,
) -> Response {
    if visitor.is_err() {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let wanted = name
        .ok()
        .and_then(|UrlPath(name)| Bitmap::all().into_iter().find(|bitmap| bitmap.file() == name));
    match wanted {
        Some(bitmap) => answer("image/bmp", drawing::bitmap(bitmap)),
        None => missing(),
    }
}

fn answer(kind: &'static str, body: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "private, no-cache")], body)
        .into_response()
}

fn missing() -> Response {
    (StatusCode::NOT_FOUND, language::plain("no_such_file")).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_of_a_foreign_page_is_read() {
        let place = tempfile::tempdir().unwrap();
        let page = place.path().join("page");
        std::fs::create_dir_all(page.join("js")).unwrap();
        std::fs::write(place.path().join("secret.js"), "secret").unwrap();
        for file in ["index.html", "js/app.js", ".env"] {
            std::fs::write(page.join(file), "hi").unwrap();
        }
        std::os::unix::fs::symlink(place.path().join("secret.js"), page.join("link.js")).unwrap();
        for path in ["index.html", "js/app.js"] {
            assert_eq!(read_below(&page, path).as_deref(), Some(&b"hi"[..]), "{path}");
        }
        for path in [
            "",
            "js",
            "js/",
            "../secret.js",
            "js/../../secret.js",
            "/etc/passwd",
            "link.js",
            ".env",
            "js/./app.js",
            "none.js",
        ] {
            assert_eq!(read_below(&page, path), None, "{path}");
        }
    }
}
