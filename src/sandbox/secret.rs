//! What an agent has no business with on anybody's machine: keys, logins, and sockets by which one leaves a box.

use std::path::{Path, PathBuf};

/// Below the home of whoever runs the gateway.
const OF_HOME: &[&str] = &[
    // Keys and passwords.
    ".ssh",
    ".gnupg",
    ".password-store",
    ".local/share/keyrings",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".config/sops",
    ".config/age",
    // Clouds, forges and registries.
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/rclone",
    ".config/doctl",
    ".kube",
    ".docker",
    ".config/containers",
    ".terraform.d",
    ".oci",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    // Logins of code agents; a row names those that it needs.
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".copilot",
    ".qwen",
    ".config/goose",
    ".local/share/goose",
    ".config/opencode",
    ".local/share/opencode",
    // Browsers and mail.
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    // What was typed.
    ".bash_history",
    ".zsh_history",
    ".local/share/fish",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".node_repl_history",
    // Engines that start programs outside.
    ".colima",
    ".lima",
    ".rd",
    ".local/share/containers",
];

/// Of the whole machine. The sockets in /run are hidden with all of /run.
const OF_SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/letsencrypt",
    "/etc/kubernetes",
    "/etc/rancher",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/lib/lxd",
    "/var/snap/lxd",
];

/// Also those that there are not.
pub fn secrets_of_others(home: Option<&Path>) -> Vec<PathBuf> {
    let of_home = home.into_iter().flat_map(|home| OF_HOME.iter().map(|name| home.join(name)));
    of_home.chain(OF_SYSTEM.iter().map(PathBuf::from)).collect()
}
