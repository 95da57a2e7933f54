//! Containers: with some options they are as good as an administrator of the machine.

use super::field::{Field, HOME};
use super::reason;
use super::walk::Walker;

/// Directories of the machine that no container needs to change.
const OF_THE_MACHINE: [&str; 9] =
    ["/", "/etc", "/usr", "/bin", "/boot", "/root", "/home", "/var", "/dev"];
const OPTIONS: [&str; 8] = [
    "--privileged",
    "--privileged=true",
    "--pid=host",
    "--userns=host",
    "--cap-add=ALL",
    "--cap-add=all",
    "--cap-add=SYS_ADMIN",
    "--security-opt=apparmor=unconfined",
];

impl Walker<'_> {
    pub(super) fn container(&mut self, arguments: &[Field]) {
        let texts: Vec<_> = arguments.iter().map(|field| field.text.as_str()).collect();
        let pair = |first: &str, second: &str| {
            texts.windows(2).any(|pair| pair[0] == first && pair[1].eq_ignore_ascii_case(second))
        };
        let is_free = texts.iter().any(|text| OPTIONS.contains(text))
            || pair("--pid", "host")
            || pair("--userns", "host")
            || pair("--cap-add", "all")
            || pair("--cap-add", "sys_admin");
        let has_device = texts.iter().any(|text| text.starts_with("--device"));
        if is_free || has_device || texts.iter().any(|text| is_of_the_machine(text)) {
            self.critical(reason::LEAVES);
        }
    }
}

/// `/:/host`, also behind `--volume=` and as `src=/,dst=...`.
fn is_of_the_machine(text: &str) -> bool {
    if text.contains("docker.sock") {
        return true;
    }
    let text = text.strip_prefix("--volume=").or_else(|| text.strip_prefix("-v")).unwrap_or(text);
    let mounted = text
        .split(',')
        .find_map(|part| part.strip_prefix("src=").or_else(|| part.strip_prefix("source=")));
    let (source, rest) = match mounted {
        Some(source) => (source, text),
        None => match text.split_once(':') {
            Some((source, rest)) if rest.starts_with('/') => (source, rest),
            Some(_) | None => return false,
        },
    };
    let is_read = rest.ends_with(":ro") || rest.contains("readonly");
    let path = if source == "/" { source } else { source.trim_end_matches('/') };
    !is_read && (OF_THE_MACHINE.contains(&path) || path.chars().eq([HOME]))
}
