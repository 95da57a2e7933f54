//! Settings as people write them: what is taken, and how mistakes are told.

use super::*;
use crate::message::{AgentSlot, Setting};
use crate::provider::row::{ChatKey, ChatKind, Secret};

fn load(text: &str) -> Result<Config, String> {
    load_with(text, Overrides { data: Some("/tmp/nowhere".into()), ..Overrides::default() })
}

/// A file of its own keeps the developer's settings out of the test, and no variables the developer's keys.
fn load_with(text: &str, overrides: Overrides) -> Result<Config, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kakehashi.toml");
    std::fs::write(&path, text).unwrap();
    let shown =
        |err: ConfigError| err.to_string().replace(&dir.path().display().to_string(), "DIR");
    Config::load_from(Overrides { config: Some(path), ..overrides }, |_| None).map_err(shown)
}

#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let error = load(text).unwrap_err();
    assert!(error.starts_with(expected), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn an_unknown_key_is_named_with_its_line() {
    check_refused(
        "\n\nport = 1\n",
        "DIR/kakehashi.toml:3: unknown key `port`, expected one of `listen`",
    );
    check_refused("[limits]\nsocket = 1\n", "DIR/kakehashi.toml:2: unknown key `socket`");
    check_refused("[settings]\nCHAT = \"a\"\n", "DIR/kakehashi.toml:2: unknown key `CHAT`");
    check_refused("[web]\n", "DIR/kakehashi.toml:1: unknown key `web`");
}

#[test]
fn a_bad_value_is_named_with_what_is_allowed() {
    check_refused(
        "[limits]\n\nsockets = 0",
        "DIR/kakehashi.toml:3: sockets: 0 is not allowed, only 1 to 1000000",
    );
    check_refused(
        "[limits]\nsockets = \"many\"",
        "DIR/kakehashi.toml:2: sockets: invalid type: string",
    );
    check_refused(
        "language = \"fr\"",
        "DIR/kakehashi.toml:1: language: unknown variant `fr`, expected `ja` or `en`",
    );
    check_refused(
        "models = \"gpt\"",
        "DIR/kakehashi.toml:1: models: unknown variant `gpt`, expected `auto` or `scripted`",
    );
    check_refused("listen = \"8091\"", "DIR/kakehashi.toml:1: listen: `8091` is not an address");
    check_refused("listen 8091", "DIR/kakehashi.toml:1: ");
}

#[test]
fn agents_are_known_by_name() {
    let row = "[[agents]]\nname = \"goose\"\nkind = \"acp\"\ncommand = [\"goose\", \"acp\"]\n";
    let chosen = "[settings]\nCODE_AI2_NAME = \"goose\"\n";
    assert_eq!(load(&format!("{row}{chosen}")).unwrap().agents[0].label, "goose");
    let own = "[settings] CODE_AI2_NAME: there is no `goose`; there are";
    check_refused(chosen, &format!("{own} builtin, analyst, scripted"));
    let scripted = format!("models = \"scripted\"\n{row}");
    check_refused(&format!("{scripted}{chosen}"), &format!("{own} scripted"));
    for (file, expected) in [("", "builtin"), (&*scripted, "scripted")] {
        let settings = load(file).unwrap().settings;
        assert_eq!(settings.agents[AgentSlot::ALL[3]].name, expected);
    }
    check_refused(&format!("{row}{row}"), "agent `goose` is there twice");
    check_refused(&format!("{row}port = 1"), "DIR/kakehashi.toml:5: ");
}

#[test]
fn a_model_of_an_agent_is_one_that_some_agent_may_have() {
    let any = "[[agents]]\nname = \"goose\"\nkind = \"acp\"\ncommand = [\"goose\"]\n";
    let chosen = "[settings]\nCODE_AI2_MODEL = \"large\"\n";
    check_refused(chosen, "[settings] CODE_AI2_MODEL: ");
    load(&format!("{any}{chosen}")).unwrap();
    load(&format!("{any}models = [\"small\", \"large\"]\n{chosen}")).unwrap();
    check_refused(
        &format!("{any}models = [\"small\"]\n{chosen}"),
        "[settings] CODE_AI2_MODEL: there is no `large`; there are auto, small",
    );
    let command = "[[agents]]\nname = \"a\"\nkind = \"command\"\ncommand = [\"a\", \"{prompt}\"]\n";
    check_refused(&format!("{command}{chosen}"), "[settings] CODE_AI2_MODEL: ");
    // Nothing is as good as "auto".
    let settings = load("[settings]\nCODE_AI2_MODEL = \"\"").unwrap().settings;
    assert_eq!(settings.agents[AgentSlot::ALL[1]].model, None);
}

#[test]
fn a_slot_without_a_name_gets_the_first_agent_that_is_there() {
    let row = |name: &str, kind: &str, command: &str| {
        format!(
            "[[agents]]\nname = \"{name}\"\nkind = \"{kind}\"\ncommand = [\"{command}\", \"{{prompt}}\"]\n"
        )
    };
    let missing = row("missing", "acp", "surely-not-installed");
    let unasked = row("unasked", "command", "sh");
    let (first, second) = (row("first", "acp", "sh"), row("second", "acp", "sh"));
    for (file, expected) in [
        (format!("{missing}{unasked}"), "builtin"),
        (format!("{missing}{unasked}{first}{second}"), "first"),
        (format!("{second}{first}"), "second"),
        (format!("models = \"scripted\"\n{first}"), "scripted"),
    ] {
        let named = "[settings]\nCODE_AI2_NAME = \"scripted\"\n";
        let settings = load(&format!("{file}{named}")).unwrap().settings;
        for (slot, expected) in AgentSlot::ALL.into_iter().zip([expected, "scripted"]) {
            assert_eq!(settings.agents[slot].name, expected, "{settings:?}");
        }
    }
}

#[test]
fn a_second_address_is_checked_like_the_first_one() {
    let config = load("[smol]\nlisten = \"127.0.0.1:8000\"\npage = \"/srv/page\"\n").unwrap();
    assert_eq!(config.smol.listen.unwrap().to_string(), "127.0.0.1:8000");
    assert_eq!(config.smol.page.as_deref(), Some(Path::new("/srv/page")));
    assert_eq!(load("").unwrap().smol, SmolRules::default());
    check_refused(
        "[smol]\nlisten = \"0.0.0.0:8000\"",
        "0.0.0.0:8000 can be reached by others, and",
    );
    check_refused(
        "[smol]\nlisten = \"8000\"",
        "DIR/kakehashi.toml:2: listen: `8000` is not an address",
    );
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    check_refused("listen = \"0.0.0.0:8091\"", "0.0.0.0:8091 can be reached by others, and");
    check_refused(
        "listen = \"[::]:1\"\ntrusted_proxy = [\"10.0.0.1\"]",
        "[::]:1 can be reached by others, and there are no users",
    );
}

#[test]
fn proxies_are_addresses() {
    for (proxy, reason) in [("10.0.0.0/8", "not an address"), ("0.0.0.0", "nobody's address")] {
        let error = load(&format!("trusted_proxy = [\"{proxy}\"]")).unwrap_err();
        let expected = format!("DIR/kakehashi.toml:1: trusted_proxy: `{proxy}` is {reason}");
        assert!(error.starts_with(&expected), "{error}");
    }
    let config = load("trusted_proxy = [\"::ffff:10.0.0.1\", \"fd00::1\"]").unwrap();
    let shown: Vec<_> = config.trusted_proxies.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["10.0.0.1", "fd00::1"]);
}

#[test]
fn a_chat_model_has_its_vendors_address_and_its_key() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kakehashi.toml");
    let text = "[[chat]]\nname = \"a\"\nkind = \"anthropic\"\nmodel = \"m\"\nkey = \"A_KEY\"\n\
        [[chat]]\nname = \"b\"\nkind = \"gemini\"\nmodel = \"n\"\nkey = \"B_KEY\"\n\
        [[chat]]\nname = \"c\"\nkind = \"openai\"\nmodel = \"o\"\nbase_url = \"http://box:1/v1/\"\n\
        label = \"Box\"\ncontext_tokens = 8192\nmax_output_tokens = 100\nimages = false\ntools = false\ntimeout_seconds = 900\n";
    std::fs::write(&path, text).unwrap();
    let overrides =
        Overrides { config: Some(path), data: Some("/tmp/nowhere".into()), ..Overrides::default() };
    let variable = |name: &str| match name {
        "A_KEY" => Some(" sk-1\n".to_owned()),
        "B_KEY" => Some(String::new()),
        "OLLAMA_HOST" => Some("box:1".to_owned()),
        _ => None,
    };
    let config = Config::load_from(overrides, variable).unwrap();
    let [a, b, c] = &config.chat[..] else { panic!("{:?}", config.chat) };
    let key = |variable: &str, secret: Option<&str>| {
        Some(ChatKey { variable: variable.to_owned(), secret: secret.map(Secret::new) })
    };
    assert_eq!((a.kind, a.base_url.as_str()), (ChatKind::Anthropic, "https://api.anthropic.com"));
    assert_eq!((&a.label, &a.key), (&"m".to_owned(), &key("A_KEY", Some("sk-1"))));
    assert!(a.images && a.tools && !a.image_output);
    assert_eq!(b.base_url, "https://generativelanguage.googleapis.com/v1beta");
    assert_eq!(b.key, key("B_KEY", None));
    assert_eq!((c.base_url.as_str(), c.label.as_str()), ("http://box:1/v1", "Box"));
    assert_eq!((c.context_tokens, c.max_output_tokens), (Some(8192), Some(100)));
    assert_eq!((c.patience, a.patience), (Some(Duration::from_secs(900)), None));
    assert!(!c.images && !c.tools && c.key.is_none());
    assert_eq!(config.ollama_host.as_deref(), Some("box:1"));
    assert!(!format!("{config:?}").contains("sk-1"));
}

/// What vendors have ended or will end within months of this list; add to it when they announce more.
const RETIRED: [&str; 8] = [
    "claude-3",
    "claude-sonnet-4-",
    "claude-opus-4-",
    "gemini-1",
    "gemini-2",
    "gpt-4.1",
    "gpt-5-",
    "gpt-5\"",
];

#[test]
fn examples_name_no_model_that_ends() {
    let texts = [
        include_str!("../../config/kakehashi.toml"),
        include_str!("../../README.md"),
        include_str!("../../docs/configuration.md"),
        include_str!("../../docs/voice.md"),
    ];
    for name in RETIRED {
        assert!(texts.iter().all(|text| !text.contains(name)), "{name} is still named");
    }
}

#[test]
fn a_key_in_the_environment_offers_models_behind_all_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kakehashi.toml");
    let with = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let overrides = Overrides {
            config: Some(path.clone()),
            data: Some("/tmp/nowhere".into()),
            ..Overrides::default()
        };
        let key = |name: &str| name.ends_with("_API_KEY").then(|| "sk-secret".to_owned());
        let mut config = Config::load_from(overrides, key).unwrap();
        let there = ChatModel { name: "ollama:a".to_owned(), key: None, ..sample() };
        config.add_found(vec![there]).unwrap();
        assert!(!format!("{config:?} {:?}", config.setup_hint()).contains("sk-secret"));
        config
    };
    let names = |config: &Config| -> Vec<String> {
        config.chat_rows().into_iter().map(|row| row.name).collect()
    };
    let config = with("");
    assert_eq!(names(&config), ["ollama:a", "openai", "claude", "gemini"]);
    assert_eq!((&*config.settings.chat, &*config.settings.live), ("ollama:a", "openai_live"));
    check_setting(&config, Setting::ChatModel("gemini".into()).with_value("m").unwrap()).unwrap();
    let row = "[[chat]]\nname = \"mine\"\nkind = \"anthropic\"\nmodel = \"m\"\nkey = \"ANTHROPIC_API_KEY\"\n";
    assert_eq!(names(&with(row)), ["mine", "ollama:a", "openai", "gemini"]);
    let off = with("models_from_environment = false\n");
    assert_eq!((names(&off), off.live.len()), (vec!["ollama:a".to_owned()], 0));
    let scripted = with("models = \"scripted\"\n");
    assert!(scripted.chat.is_empty() && scripted.live.is_empty() && scripted.offered.is_empty());
}

fn sample() -> ChatModel {
    ChatModel {
        name: "a".to_owned(),
        label: "A".to_owned(),
        kind: ChatKind::OpenAi,
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        model: "a".to_owned(),
        key: None,
        context_tokens: None,
        max_output_tokens: None,
        images: false,
        image_output: false,
        tools: false,
        patience: None,
    }
}

#[test]
fn another_model_of_a_chat_row_has_a_name() {
    let row =
        "[[chat]]\nname = \"gemini\"\nkind = \"gemini\"\nmodel = \"m\"\nkey = \"NO_SUCH_KEY\"\n";
    let config = load(row).unwrap();
    let set = |model: &str| {
        check_setting(&config, Setting::ChatModel("gemini".into()).with_value(model).unwrap())
    };
    for name in ["auto", "gemini-3.8-flash", "org/model:tag", "..", "a?b#c"] {
        assert!(set(name).is_ok(), "{name}");
    }
    for name in ["", "a\nb", "a\u{7f}", &"x".repeat(201)] {
        assert!(set(name).is_err(), "{name:?}");
    }
}

#[test]
fn bad_chat_models_are_refused() {
    let row =
        |more: &str| format!("[[chat]]\nname = \"a\"\nkind = \"openai\"\nmodel = \"m\"\n{more}");
    let at = |line: usize, reason: &str| format!("DIR/kakehashi.toml:{line}: {reason}");
    for (line, more, reason) in [
        (1, "", "`a` has no key: name its variable with `key`"),
        (5, "key = \"sk-proj-12345\"", "key: this is not the name of a variable"),
        (5, "key = \"AIzaSyA1\"", "key: this is not the name of a variable"),
        (5, "base_url = \"box:80\"", "base_url: `box:80` is not an address"),
        (5, "base_url = \"ftp://box\"", "base_url: `ftp://box` is not an address"),
        (5, "base_url = \"http://me:pw@box\"", "base_url: an address with a password"),
        (5, "base_url = \"http://box/v1?key=1\"", "base_url: an address with a question"),
        (5, "context_tokens = 0", "context_tokens: 0 is not allowed"),
        (5, "images = \"yes\"", "images: invalid type"),
        (5, "temperature = 1", "unknown key `temperature`"),
    ] {
        check_refused(&row(more), &at(line, reason));
    }
    check_refused("[[chat]]\nname = \"a b\"", &at(2, "name: `a b` is not a model's name"));
    check_refused("[[chat]]\nname = \"scripted\"", &at(2, "name: `scripted` is taken"));
    check_refused("[[chat]]\nname = \"a\"\nkind = \"x\"", &at(3, "kind: unknown variant `x`"));
    check_refused("[[chat]]\nname = \"a\"\nkind = \"gemini\"\nmodel = \"../x\"", &at(4, "model: "));
    let twice = row("key = \"K\"\n").repeat(2);
    check_refused(&twice, "chat model `a` is there twice");
}

#[test]
fn live_models_stand_in_for_each_other_in_their_order() {
    let text = "[[live]]\nname = \"gemini_live\"\nkind = \"gemini\"\nmodel = \"g\"\nkey = \"A_KEY\"\n\
        [[live]]\nname = \"openai_live\"\nkind = \"openai\"\nmodel = \"o\"\nvoice = \"marin\"\nkey = \"B_KEY\"\ntranscription = \"whisper-1\"\n\
        [[live]]\nname = \"own\"\nkind = \"openai\"\nmodel = \"m\"\nbase_url = \"http://box:1/v1/\"\nlabel = \"Box\"\n\
        [voice]\nsilence_ms = 900\nbackchannels = [\"Aha\"]\n";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kakehashi.toml");
    let with = |more: &str| {
        std::fs::write(&path, format!("{text}{more}")).unwrap();
        let overrides = Overrides {
            config: Some(path.clone()),
            data: Some("/tmp/nowhere".into()),
            ..Overrides::default()
        };
        let variable = |name: &str| (name == "B_KEY").then(|| "sk-2".to_owned());
        Config::load_from(overrides, variable).unwrap()
    };
    let names = |config: &Config| {
        let models = live_models(config, &config.settings);
        models.into_iter().map(|model| model.name).collect::<Vec<_>>()
    };
    // The first has no key, so nobody waits for it.
    let config = with("");
    assert_eq!(names(&config), ["openai_live", "own"]);
    assert_eq!(config.live[1].base_url, "wss://api.openai.com/v1");
    assert_eq!(config.live[1].transcription.as_deref(), Some("whisper-1"));
    assert_eq!((&*config.live[2].base_url, &*config.live[2].label), ("ws://box:1/v1", "Box"));
    assert_eq!(config.turn_rules.silence, Duration::from_millis(900));
    for word in ["aha", "mm-hm", "\u{306f}\u{3044}"] {
        assert!(config.turn_rules.backchannels.iter().any(|known| known == word), "{word}");
    }
    assert!(!format!("{config:?}").contains("sk-2"));
    let chosen = with("[settings]\nLIVE_AI_NAME = \"own\"\nLIVE_OPENAI_VOICE = \"cedar\"\n");
    assert_eq!(names(&chosen), ["own", "openai_live"]);
    let voices = live_models(&chosen, &chosen.settings);
    assert_eq!(voices[1].voice.as_deref(), Some("cedar"));
    assert_eq!(names(&with("[settings]\nLIVE_AI_NAME = \"scripted\"\n")), [""; 0]);
}

#[test]
fn bad_live_models_are_refused() {
    let row =
        |more: &str| format!("[[live]]\nname = \"a\"\nkind = \"openai\"\nmodel = \"m\"\n{more}");
    let at = |line: usize, reason: &str| format!("DIR/kakehashi.toml:{line}: {reason}");
    for (line, more, reason) in [
        (1, "", "`a` has no key: name its variable with `key`"),
        (5, "key = \"sk-proj-12345\"", "key: this is not the name of a variable"),
        (5, "base_url = \"ws://me:pw@box\"", "base_url: an address with a password"),
        (5, "base_url = \"wsx://box\"", "base_url: `wsx://box` is not an address"),
        (5, "voice = \"a b\"", "voice: `a b` is not a word"),
        (5, "speed = 2", "unknown key `speed`"),
    ] {
        check_refused(&row(more), &at(line, reason));
    }
    check_refused(&row("key = \"K\"\n").repeat(2), "live model `a` is there twice");
    let gemini = row("key = \"K\"\ntranscription = \"t\"").replace("openai", "gemini");
    check_refused(&gemini, &at(1, "`a` writes down by itself what is said"));
    check_refused(
        "[settings]\nLIVE_AI_NAME = \"b\"",
        "[settings] LIVE_AI_NAME: there is no `b`; there are scripted, auto",
    );
    check_refused("[settings]\nLIVE_OPENAI_VOICE = \"b\"", "[settings] LIVE_OPENAI_VOICE: ");
}

#[test]
fn a_certificate_needs_its_key() {
    check_refused(
        "[tls]\ncert = \"a.pem\"",
        "there is a TLS certificate but no key: --tls-key, KAKEHASHI_TLS_KEY or [tls] key",
    );
    check_refused("[tls]\nkey = \"a.pem\"", "there is a TLS key but no cert: --tls-cert, ");
    assert_eq!(load("[tls]\ncert = \"\"\nkey = \"\"").unwrap().tls, None);
    let flags = Overrides { tls_key: Some("b.pem".into()), ..Overrides::default() };
    let config = load_with("[tls]\ncert = \"a.pem\"\nkey = \"x\"", flags).unwrap();
    assert_eq!(config.tls, Some(TlsFiles { cert: "a.pem".into(), key: "b.pem".into() }));
}

#[test]
fn bad_settings_are_refused() {
    check_refused("[settings]\nCODE_MAX_TURNS = \"9\"", "DIR/kakehashi.toml:2: CODE_MAX_TURNS: ");
    check_refused(
        "[settings]\nCODE_MAX_TURNS = 0",
        "DIR/kakehashi.toml:2: CODE_MAX_TURNS: `0` has no effect with scripted models, only `999`",
    );
    check_refused("[settings]\nCODE_PLAN = 1", "DIR/kakehashi.toml:2: CODE_PLAN: ");
    check_refused(
        "[settings]\nCHAT_AI_NAME = \"gemini\"",
        "[settings] CHAT_AI_NAME: there is no `gemini`; there are scripted, auto",
    );
}

#[test]
fn origins_and_hosts_are_checked() {
    check_refused(
        "allowed_origins = [\"null\"]",
        "DIR/kakehashi.toml:1: allowed_origins: `null` is not an origin",
    );
    check_refused("allowed_origins = [\"http://a/b\"]", "DIR/kakehashi.toml:1: allowed_origins: ");
    check_refused("allowed_hosts = [\"http://a\"]", "DIR/kakehashi.toml:1: allowed_hosts: ");
    let config =
        load("allowed_origins = [\"HTTPS://Desk.example\"]\nallowed_hosts = [\"Desk.example\"]")
            .unwrap();
    assert_eq!(config.allowed_origins, ["https://desk.example"]);
    assert_eq!(config.allowed_hosts, ["desk.example"]);
}

#[test]
fn flags_go_before_the_file() {
    let flags = Overrides {
        listen: Some("[::1]:2".to_owned()),
        project: Some("/usr/../tmp".into()),
        data: Some("/tmp/nowhere".into()),
        ..Overrides::default()
    };
    let config = load_with("listen = \"127.0.0.1:1\"\nlanguage = \"en\"", flags).unwrap();
    assert_eq!(config.listen.to_string(), "[::1]:2");
    assert_eq!(config.project, Path::new("/tmp").canonicalize().unwrap());
    assert_eq!(config.data, Path::new("/tmp/nowhere"));
    assert_eq!(config.language, Locale::En);
}

#[test]
fn a_bad_flag_names_itself() {
    let flags = Overrides { listen: Some("here".to_owned()), ..Overrides::default() };
    assert_eq!(
        load_with("", flags).unwrap_err(),
        "--listen or KAKEHASHI_LISTEN: `here` is not an address like 127.0.0.1:8091 or [::1]:8091"
    );
}

#[test]
fn a_missing_file_or_project_is_named() {
    let overrides = Overrides { config: Some("/no/such.toml".into()), ..Overrides::default() };
    let error = Config::load_from(overrides, |_| None).unwrap_err().to_string();
    assert!(error.starts_with("cannot read /no/such.toml: "), "{error}");
    let flags = Overrides { project: Some("/dev/null".into()), ..Overrides::default() };
    let error = load_with("", flags).unwrap_err();
    assert!(error.starts_with("project /dev/null is not a directory"), "{error}");
}

#[test]
fn a_test_gateway_takes_a_free_port_and_all_defaults() {
    let config = Config::for_test("/tmp", "/tmp");
    assert_eq!(config.listen.to_string(), "127.0.0.1:0");
    assert_eq!(config.limits.input_frame, 32 * 1024 * 1024);
    assert_eq!(config.limits.unload, Duration::from_secs(1800));
    assert_eq!(config.files.temp_quota, 2 * 1024 * 1024 * 1024);
    assert_eq!(config.files.temp_age, Duration::from_secs(604_800));
    assert!(config.settings.agents.iter().all(|agent| agent.name == SCRIPTED_NAME));
}
