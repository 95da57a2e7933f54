//! A new user: keys in the environment offer models, and the scripts that build say what they do.

use crate::process::Process;
use crate::support::{BODY, Client, Frontend, Home, KIND};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

const KEY: &str = "sk-of-a-test-that-nobody-may-see";
/// No Ollama of the developer, and one key of each of two vendors.
const WITH_KEYS: &str = "OLLAMA_HOST=127.0.0.1:1 OPENAI_API_KEY=sk-of-a-test-that-nobody-may-see \
    ANTHROPIC_API_KEY=sk-of-a-test-that-nobody-may-see exec \"$0\" \"$@\"";

async fn welcome(process: &Process, language: &str) -> String {
    let more = json!({"言語": language});
    let mut chat = Client::open_with(process.addr, "0", None, more).await;
    let packets = chat.collect_until(|packet| packet[KIND] == "welcome_text").await;
    let info = packets.iter().find(|packet| packet[KIND] == "welcome_info").unwrap();
    info[BODY].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_key_in_the_environment_offers_its_vendors_models_and_stays_there() {
    let home = Home::new();
    let process = Process::start_under(&home, WITH_KEYS, "models = \"auto\"\n");
    let file = home.data.path().join("settings.toml").display().to_string();
    for language in ["en", "ja"] {
        let told = welcome(&process, language).await;
        for part in [
            "gpt-6.1-terra",
            "OPENAI_API_KEY",
            "gpt-realtime-2.1",
            "models_from_environment",
            &file,
        ] {
            assert!(told.contains(part), "no {part} in {told}");
        }
    }
    let mut front = Frontend::open(process.addr, None).await;
    let models = front.input.init.to_string();
    assert!(models.contains("\"openai\"") && models.contains("\"openai_live\""), "{models}");
    assert!(!models.contains(KEY));
    // Exact commands do not ask the model.
    front.type_in("1", "/run env").await;
    let asks = |packet: &Value| packet[KIND] == "confirm_request" || is_question(packet);
    front.agents[0].until_where(asks).await;
    front.type_in("1", "yes").await;
    let shown = front.agents[0].collect_until(|packet| {
        packet[KIND] == "output_text"
            && packet[BODY].as_str().is_some_and(|text| text.contains("PATH="))
    });
    let shown = Value::from(shown.await).to_string();
    assert!(!shown.contains(KEY) && !shown.contains("_API_KEY"), "{shown}");
}

fn is_question(packet: &Value) -> bool {
    packet[BODY].as_str().is_some_and(|text| text.contains("/run") || text.contains("env"))
        && packet[KIND] == "output_text"
}

#[tokio::test]
async fn without_a_key_or_switched_off_the_way_to_a_model_is_told() {
    let none = "OLLAMA_HOST=127.0.0.1:1 exec \"$0\" \"$@\"";
    for (script, settings) in
        [(none, "models = \"auto\"\n"), (WITH_KEYS, "models_from_environment = false\n")]
    {
        let home = Home::new();
        let process = Process::start_under(&home, script, settings);
        let file = home.data.path().join("settings.toml").display().to_string();
        for language in ["en", "ja"] {
            let told = welcome(&process, language).await;
            for part in [
                &file,
                "[[chat]]\nname = \"claude\"",
                "ANTHROPIC_API_KEY",
                "[[live]]\n",
                "Chat: scripted",
            ] {
                assert!(told.contains(part), "no {part} in {told}");
            }
        }
    }
}

#[test]
fn doctor_says_which_key_offers_which_model() {
    let home = Home::new();
    let ask = |models: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
        command.args(["doctor", "--models", models, "--project"]).arg(home.project.path());
        command.arg("--data").arg(home.data.path());
        command.env_clear().env("HOME", home.data.path()).env("GEMINI_API_KEY", KEY);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let said = ask("auto");
    assert!(said.contains("gemini (gemini-3.8-flash, GEMINI_API_KEY)"), "{said}");
    assert!(said.contains("gemini_live (gemini-3.8-live, GEMINI_API_KEY)"), "{said}");
    let file = home.data.path().join(".config/kakehashi/kakehashi.toml").display().to_string();
    assert!(said.contains(&format!("a file would be {file}")), "{said}");
    assert!(!said.contains(KEY), "{said}");
    let scripted = ask("scripted");
    assert!(!scripted.contains("gemini-3.8"), "{scripted}");
}

/// A copy of the scripts in a tree of its own, with a cargo that only says how it was called.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
        for name in ["scripts", "src", "config", "web", "bin"] {
            fs::create_dir(tree.path(name)).unwrap();
        }
        for name in ["run", "talk", "build"] {
            fs::copy(scripts.join(name), tree.path("scripts").join(name)).unwrap();
        }
        for name in ["Cargo.toml", "Cargo.lock", "src/lib.rs"] {
            fs::write(tree.path(name), "").unwrap();
        }
        tree.program("bin/cargo", "echo \"   Compiling $*\" >&2\necho noise\n[ -z \"$FAIL\" ] || exit 101\n\
            mkdir -p \"$ROOT/target/release\"\ncp \"$ROOT/bin/gateway\" \"$ROOT/target/release/kakehashi\"");
        tree.program("bin/gateway", "echo \"started $*\"");
        for name in ["cc", "pkg-config"] {
            tree.program(&format!("bin/{name}"), "exit 0");
        }
        tree
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        fs::write(self.path(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn run(&self, script: &str, fail: &str) -> (Output, String, String) {
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(self.path("scripts").join(script));
        command.arg("--now").env("PATH", path).env("ROOT", self.0.path()).env("FAIL", fail);
        let output = command.env_remove("CARGO_TARGET_DIR").output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        (output, stdout, stderr)
    }
}

#[test]
fn the_scripts_announce_a_build_on_stderr_only_when_they_build() {
    for (script, said) in [("run", "started --now\n"), ("talk", "started talk --now\n")] {
        let tree = Tree::new();
        let (output, _, stderr) = tree.run(script, "1");
        assert!(!output.status.success(), "{stderr}");
        assert!(stderr.contains("about five minutes the first time"), "{stderr}");
        let (_, stdout, stderr) = tree.run(script, "");
        assert_eq!(stdout, said, "{stderr}");
        assert!(
            stderr.contains("about five minutes") && stderr.contains("Compiling build"),
            "{stderr}"
        );
        assert!(!stderr.contains("--quiet"), "{stderr}");
        let (_, stdout, stderr) = tree.run(script, "");
        assert_eq!(stdout, said);
        assert!(
            stderr.contains("--quiet") && !stderr.contains(&format!("scripts/{script}:")),
            "{stderr}"
        );
        let later = SystemTime::now() + Duration::from_secs(5);
        fs::File::options()
            .write(true)
            .open(tree.path("src/lib.rs"))
            .unwrap()
            .set_modified(later)
            .unwrap();
        let (_, stdout, stderr) = tree.run(script, "");
        assert_eq!(stdout, said);
        assert!(
            stderr.contains("something has changed") && !stderr.contains("--quiet"),
            "{stderr}"
        );
    }
}
