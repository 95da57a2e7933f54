//! Downloads: which files come from the network, and what may be one of them.

use super::field::{Feed, Field};
use super::outside::is_remote;
use super::run::same_file;
use super::walk::{Dirs, Outcome, Walker};

const FETCHERS: [&str; 16] = [
    "curl", "wget", "wget2", "aria2c", "http", "https", "xh", "lynx", "w3m", "links", "nc", "ncat",
    "netcat", "socat", "ftp", "fetch",
];
/// Programs that copy from another machine if they are told its name, and which of their commands does so.
const COPIERS: [(&str, &str); 13] = [
    ("scp", ""),
    ("sftp", ""),
    ("rsync", ""),
    ("aws", "s3"),
    ("gsutil", "cp"),
    ("gcloud", "storage"),
    ("s3cmd", "get"),
    ("mc", "cp"),
    ("rclone", "copyto"),
    ("rclone", "copy"),
    ("docker", "cp"),
    ("podman", "cp"),
    ("kubectl", "cp"),
];

impl Walker<'_> {
    /// What comes from the network, if this program gets something from there.
    pub(super) fn downloads(
        &mut self,
        name: &str,
        arguments: &[Field],
        dirs: &Dirs,
        input: &Feed,
    ) -> Option<Outcome> {
        let word = arguments.first().map_or("", |field| field.text.as_str());
        let copies =
            |(program, verb): &(&str, &str)| *program == name && (verb.is_empty() || *verb == word);
        if COPIERS.iter().any(copies) {
            self.copied_here(arguments, dirs);
        }
        if !FETCHERS.contains(&name) {
            return None;
        }
        for file in fetched(name, arguments) {
            self.writes(&file, dirs);
            self.fetched.push(file.text);
        }
        let is_kept = name != "curl" || arguments.iter().any(|field| field.text == "-O");
        for file in addressed(arguments) {
            if is_kept {
                self.writes(&Field::new(&file), dirs);
            }
            self.fetched.push(file);
        }
        // `socat - EXEC:'...'`
        let parts = arguments.iter().flat_map(|field| field.text.split([':', ',']));
        let parts: Vec<_> = parts.map(Field::new).collect();
        match name {
            "curl" | "http" | "https" | "xh" => {}
            "socat" => self.perhaps(name, &parts, dirs, &Feed::Nothing),
            _ => self.perhaps(name, arguments, dirs, input),
        }
        Some(Outcome::new(dirs, Feed::Downloaded))
    }

    /// Files of another machine that are here now.
    pub(super) fn copied_here(&mut self, arguments: &[Field], dirs: &Dirs) {
        if arguments.iter().any(is_remote) {
            if let Some(last) = arguments.last().filter(|field| !is_remote(field)) {
                self.writes(last, dirs);
                self.fetched.push(last.text.clone());
            }
            let remote = arguments.iter().filter(|field| is_remote(field));
            self.fetched.extend(remote.map(|field| field.text.replace(':', "/")));
        }
    }

    pub(super) fn was_fetched(&self, file: &Field) -> bool {
        let is_within = |directory: &String| file.text.split('/').any(|part| part == directory);
        file.is_downloaded()
            || self.fetched.iter().any(|known| same_file(known, &file.text))
            || self.fetched_directories.iter().any(is_within)
    }

    /// A script or a program that may be part of what was downloaded: it lies there, or the shell is there.
    pub(super) fn may_be_fetched(&self, file: &Field, dirs: &Dirs) -> bool {
        let is_there = |dir: &std::path::PathBuf| {
            self.fetched_directories.iter().any(|name| dir.ends_with(name))
        };
        let is_relative = !file.text.starts_with('/') && file.feed.is_none();
        self.was_fetched(file)
            || (is_relative && (self.is_unpacked || dirs.iter().flatten().any(is_there)))
    }
}

/// Files that a download is told to write.
fn fetched(name: &str, arguments: &[Field]) -> Vec<Field> {
    let mut files = Vec::new();
    let is_wget = name.starts_with("wget");
    for (index, field) in arguments.iter().enumerate() {
        let text = field.text.as_str();
        let names_file = matches!(text, "-o" | "--output" | "--output-document" | "--output-dir")
            || (is_wget && matches!(text, "-O" | "-P" | "--directory-prefix"));
        if names_file && let Some(file) = arguments.get(index + 1) {
            files.push(file.clone());
        }
        let behind =
            ["--output=", "--output-document="].iter().find_map(|key| text.strip_prefix(key));
        let attached =
            text.strip_prefix(if is_wget { "-O" } else { "-o" }).filter(|file| !file.is_empty());
        files.extend(behind.or(attached).map(Field::new));
    }
    files.retain(|file| file.text != "-");
    files
}

/// Files that are called like the end of their address.
fn addressed(arguments: &[Field]) -> Vec<String> {
    let addresses = arguments.iter().map(|field| field.text.as_str());
    let addresses = addresses.filter(|text| text.contains("://"));
    let names = addresses.filter_map(|text| text.split(['?', '#']).next()?.rsplit('/').next());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
