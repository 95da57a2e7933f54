//! Disks that take nothing, and databases that are damaged: everybody is told soon, and nobody comes back for ever.

use crate::files::SmallDisk;
use crate::http::{delete, get, post};
use crate::support::{BODY, CODE, Client, Frontend, Gateway, Home, PATIENCE, SESSION, TOKEN};
use kakehashi::locale::Locale;
use kakehashi::message::SessionId;
use kakehashi::server::control::{self, ControlError};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const FILE: &str = "kakehashi.db";
const PAGE: usize = 4096;

fn login() -> Value {
    json!({"利用者ID": "local", "パスワード": TOKEN})
}

/// Makes the writer stand still: something of a session has to be written first.
async fn stand_still(gateway: &Gateway, front: &mut Frontend) {
    front.type_in("0", "hello").await;
    for _ in 0..1_000 {
        if get("/ready").send(gateway.addr).await.status == 503 {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the writer goes on");
}

#[tokio::test]
async fn requests_that_wait_for_a_stalled_disk_are_told_so() {
    for (language, words) in
        [(Locale::En, ["removed", "removed"]), (Locale::Ja, ["今は", "保存先が応答しません"])]
    {
        let gateway = Gateway::start_with(|config| config.language = language).await;
        let mut front = Frontend::open(gateway.addr, None).await;
        let issued = post("/core/auth/ログイン", &login()).send(gateway.addr).await.json();
        let token = issued["data"]["access_token"].as_str().unwrap().to_owned();
        let (file, away) =
            (gateway.home.data.path().join(FILE), gateway.home.data.path().join("away"));
        fs::rename(&file, &away).unwrap();
        stand_still(&gateway, &mut front).await;
        for ask in [
            post("/core/auth/ログイン", &login()),
            post("/core/auth/ログアウト", &Value::Null).bearer(&token),
            post("/core/AIコア/初期化", &Value::Null).local(),
            get(&format!("/?token={TOKEN}")),
            delete(&format!("/api/sessions/{}", front.session())).local(),
        ] {
            let reply = ask.clone().send(gateway.addr).await;
            assert_eq!(reply.status, 503, "{ask:?}: {}", reply.body);
            let is_told = words.iter().any(|word| reply.body.contains(word));
            assert!(is_told, "{ask:?}: {}", reply.body);
        }
        let (data, session) = (gateway.home.data.path(), front.session());
        let session = SessionId::parse(session).unwrap();
        let told = control::delete_session(data, &session).await;
        let Err(ControlError::Refused(text)) = told else { panic!("{told:?}") };
        // In English: the command that asked says it in the language of its user.
        assert!(text.contains("removed"), "{text}");
        // What needs no disk is answered as ever.
        assert_eq!(get("/live").send(gateway.addr).await.status, 200);
        fs::rename(&away, &file).unwrap();
        for _ in 0..1_000 {
            if get("/ready").send(gateway.addr).await.status == 200 {
                break;
            }
            tokio::task::yield_now().await;
        }
        let again = post("/core/auth/ログイン", &login()).send(gateway.addr).await;
        assert_eq!(again.json()["status"], "OK", "{}", again.body);
        gateway.stop().await;
    }
}

#[tokio::test]
async fn a_full_disk_answers_a_login() {
    let home = Arc::new(Home::new());
    let path = home.data.path().to_owned();
    let Some(_disk) = SmallDisk::mount(&path, "4m") else { return };
    fs::write(path.join("token"), TOKEN).unwrap();
    let gateway = Gateway::start_at(Arc::clone(&home), |_| ()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let filler = path.join("filler");
    let mut full = File::create(&filler).unwrap();
    while full.write_all(&[1; 512]).is_ok() {}
    // The log has some room of its own before it has to grow.
    for _ in 0..64 {
        front.type_in("0", &"x".repeat(4_000)).await;
    }
    stand_still(&gateway, &mut front).await;
    let reply = post("/core/auth/ログイン", &login()).send(gateway.addr).await;
    assert_eq!(reply.status, 503, "{}", reply.body);
    fs::remove_file(&filler).unwrap();
    drop(full);
    for _ in 0..1_000 {
        if get("/ready").send(gateway.addr).await.status == 200 {
            break;
        }
        tokio::task::yield_now().await;
    }
    let again = post("/core/auth/ログイン", &login()).send(gateway.addr).await;
    assert_eq!(again.json()["status"], "OK", "{}", again.body);
    gateway.stop().await;
}

/// A home with a session in it, whose gateway has ended.
async fn used() -> (Arc<Home>, String) {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    for number in 0..40 {
        front.type_in("0", &format!("{number} {}", "x".repeat(900))).await;
        let is_answer = |packet: &Value| {
            packet[BODY].as_str().is_some_and(|text| text.starts_with(&format!("echo: {number} ")))
        };
        front.chat.until_where(is_answer).await;
    }
    let session = front.session().to_owned();
    drop(front);
    let home = gateway.stop().await;
    // Everything into the file itself: a log beside it would be read instead.
    let file = rusqlite::Connection::open(home.data.path().join(FILE)).unwrap();
    let left: i64 =
        file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0, "somebody still has the database open");
    file.close().unwrap();
    (home, session)
}

/// With nonsense in place of a page, counted from 0.
fn spoilt(sound: &[u8], page: usize) -> Vec<u8> {
    let mut bytes = sound.to_vec();
    bytes[page * PAGE..(page + 1) * PAGE].fill(0xa5);
    bytes
}

fn run(home: &Home, command: &[&str]) -> Output {
    let mut gateway = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    gateway.args(command).args(["--listen", "127.0.0.1:0", "--models", "scripted", "--project"]);
    gateway.arg(home.project.path()).arg("--data").arg(home.data.path());
    gateway.env_clear().env("HOME", home.data.path()).output().unwrap()
}

#[tokio::test]
async fn a_damaged_database_is_refused_with_what_to_do() {
    let (home, _) = used().await;
    let file = home.data.path().join(FILE);
    let sound = fs::read(&file).unwrap();
    let pages = sound.len() / PAGE;
    assert!(pages > 20, "{pages} pages");
    let places = [0, 1, 2, pages / 3, pages / 2, pages - 2, pages - 1];
    let mut damaged: Vec<Vec<u8>> = places.iter().map(|page| spoilt(&sound, *page)).collect();
    damaged.push(sound[..pages / 2 * PAGE].to_vec());
    damaged.push(b"surely not a database".to_vec());
    for (number, bytes) in damaged.iter().enumerate() {
        fs::write(&file, bytes).unwrap();
        let said = run(&home, &["serve"]);
        let line = String::from_utf8(said.stderr).unwrap();
        assert_eq!(said.status.code(), Some(2), "{number}: {line}");
        assert_eq!(line.lines().count(), 1, "{number}: {line}");
        for part in [FILE, "damaged", "mkdir", "mv ", ".recover"] {
            assert!(line.contains(part), "{number}: no {part} in {line}");
        }
        let doctor = run(&home, &["doctor"]);
        let report = String::from_utf8(doctor.stdout).unwrap();
        assert_eq!(doctor.status.code(), Some(1), "{number}: {report}");
        let found = report.lines().find(|line| line.contains("  database  ")).unwrap();
        assert!(found.starts_with("fail") && found.contains("mkdir"), "{number}: {found}");
    }
    // The commands that it tells work.
    let said = String::from_utf8(run(&home, &["serve"]).stderr).unwrap();
    let aside = said.split('`').nth(1).unwrap();
    assert!(Command::new("sh").args(["-c", aside]).status().unwrap().success(), "{aside}");
    let gateway = Gateway::start_at(Arc::clone(&home), |_| ()).await;
    assert_eq!(get("/ready").send(gateway.addr).await.status, 200);
    gateway.stop().await;
    // And a sound one is used.
    fs::write(&file, &sound).unwrap();
    Gateway::start_at(home, |_| ()).await.stop().await;
}

/// Too large to be checked before the start: it is checked while clients are served.
#[tokio::test]
async fn a_large_database_is_checked_while_the_gateway_runs() {
    let (home, _) = used().await;
    let file = home.data.path().join(FILE);
    let sound = fs::read(&file).unwrap();
    fs::write(&file, spoilt(&sound, sound.len() / PAGE / 2)).unwrap();
    // A hole behind the last page is no part of the database, but counts for its size.
    OpenOptions::new().write(true).open(&file).unwrap().set_len(257 << 20).unwrap();
    let gateway = Gateway::start_at(home, |config| config.language = Locale::En).await;
    let found = async {
        loop {
            let told = get("/ready").send(gateway.addr).await;
            if told.status == 503 {
                return told.body;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let told = timeout(PATIENCE, found).await.expect("nobody has noticed it");
    assert!(told.contains("damaged"), "{told}");
    gateway.stop().await;
}

#[tokio::test]
async fn damage_that_appears_later_ends_every_socket_for_good() {
    let (home, session) = used().await;
    let gateway = Gateway::start_at(home, |config| config.language = Locale::En).await;
    let mut other = Client::open(gateway.addr, "input", None).await;
    other.until("welcome_text").await;
    let file = gateway.home.data.path().join(FILE);
    // In place, because the gateway has this very file open.
    let length = fs::read(&file).unwrap().len();
    let mut open = OpenOptions::new().write(true).open(&file).unwrap();
    open.seek(SeekFrom::Start(4096)).unwrap();
    open.write_all(&vec![0xa5; length - PAGE]).unwrap();
    let connect = json!({"type": "connect", SESSION: session, "ソケット番号": "0"});
    let mut client = Client::dial(gateway.addr).await;
    client.send(&connect).await;
    let told = client.until("error").await;
    assert_eq!(told[CODE], "storage_damaged", "{told}");
    assert_eq!(client.closed().await.0, 3507);
    // Who is there already, and who comes later.
    let told = other.until("error").await;
    assert_eq!(told[CODE], "storage_damaged", "{told}");
    assert!(told[BODY].as_str().unwrap().contains("kakehashi doctor"), "{told}");
    assert_eq!(other.closed().await.0, 3507);
    let mut later = Client::dial(gateway.addr).await;
    later.send(&connect).await;
    assert_eq!(later.closed().await.0, 3507);
    let ready = get("/ready").send(gateway.addr).await;
    assert_eq!(ready.status, 503);
    assert!(ready.body.contains("damaged"), "{}", ready.body);
    let started = post("/core/AIコア/初期化", &Value::Null).local().send(gateway.addr).await;
    assert_eq!(started.status, 503, "{}", started.body);
    gateway.stop().await;
}
