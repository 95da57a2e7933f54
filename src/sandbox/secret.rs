//! What an agent has no business with on anybody's machine: keys, logins, and sockets by which one leaves a box.

use std::path::{Path, PathBuf};

/// Below the home of whoever runs the gateway.
const OF_HOME: &[&str] = &[
    // Keys and passwords.
    ".ssh",
    ".gnupg",
    ".password-store",
    ".local/share/keyrings",
    ".gnome2/keyrings",
    ".local/share/kwalletd",
    ".kde/share/apps/kwallet",
    ".pki",
    ".1password",
    ".config/1Password",
    ".config/op",
    ".config/Bitwarden",
    ".config/Bitwarden CLI",
    ".config/keepassxc",
    ".putty",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".config/sops",
    ".config/age",
    ".msmtprc",
    ".mbsyncrc",
    ".fetchmailrc",
    // Whoever has these draws on the user's screen and hears what is typed there.
    ".Xauthority",
    ".ICEauthority",
    ".dbus",
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
    ".fly",
    ".boto",
    ".s3cfg",
    ".databrickscfg",
    ".kaggle",
    ".minikube",
    ".config/helm",
    ".config/hcloud",
    ".config/linode-cli",
    ".config/scw",
    ".config/netlify",
    ".config/configstore",
    ".config/filezilla",
    ".local/share/com.vercel.cli",
    ".cache/huggingface/token",
    ".huggingface",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pip",
    ".pip",
    ".gem/credentials",
    ".bundle/config",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".nuget/NuGet",
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
    ".config/github-copilot",
    ".cursor",
    ".config/opencode",
    ".local/share/opencode",
    // Browsers and mail.
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/Signal",
    ".config/Slack",
    ".config/discord",
    ".config/evolution",
    ".local/share/evolution",
    ".var/app",
    "snap",
    // What was typed.
    ".bash_history",
    ".zsh_history",
    ".local/share/fish",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".node_repl_history",
    ".sqlite_history",
    ".rediscli_history",
    ".irb_history",
    ".viminfo",
    ".lesshst",
    // Engines that start programs outside.
    ".colima",
    ".lima",
    ".rd",
    ".orbstack",
    ".vagrant.d",
    ".config/lxc",
    ".config/incus",
    ".config/libvirt",
    ".local/share/libvirt",
    ".cache/libvirt",
    ".local/share/containers",
    ".local/share/docker",
];

/// Of the whole machine. The sockets in /run are hidden with all of /run.
const OF_SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/krb5.keytab",
    "/etc/ipsec.secrets",
    "/etc/ipsec.d/private",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/NetworkManager/system-connections",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/cloudflared",
    "/etc/docker",
    "/etc/libvirt",
    "/etc/letsencrypt",
    "/etc/kubernetes",
    "/etc/rancher",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/lib/libvirt",
    "/var/lib/incus",
    "/var/lib/lxc",
    "/var/lib/machines",
    "/var/lib/rancher",
    "/var/lib/k0s",
    "/var/lib/sss",
    "/var/lib/samba/private",
    "/var/lib/tailscale",
    "/var/lib/systemd/credential.secret",
    "/var/spool/cron",
    "/var/spool/postfix",
    "/var/snap/docker",
    "/var/snap/microk8s",
    "/var/lib/kubelet",
    "/var/lib/lxd",
    "/var/snap/lxd",
];

/// Also those that there are not.
pub fn secrets_of_others(home: Option<&Path>) -> Vec<PathBuf> {
    let of_home = home.into_iter().flat_map(|home| OF_HOME.iter().map(|name| home.join(name)));
    of_home.chain(OF_SYSTEM.iter().map(PathBuf::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn nothing_is_named_twice_or_hides_more_than_it_says() {
        let home = Path::new("/home/ann");
        let all = secrets_of_others(Some(home));
        let different: HashSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        for path in &all {
            assert!(path.is_absolute() && path.components().count() > 2, "{}", path.display());
            assert!(!home.starts_with(path), "{}", path.display());
        }
        // Doors of programs that start others outside of the box, and keepers of keys.
        for known in ["/var/lib/incus", "/home/ann/.1password", "/home/ann/.local/share/keyrings"] {
            assert!(all.contains(&known.into()), "{known}");
        }
        assert_eq!(secrets_of_others(None).len(), OF_SYSTEM.len());
    }
}
