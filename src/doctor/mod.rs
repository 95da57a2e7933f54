//! `kakehashi doctor`: looks at what the gateway needs and says what to do. It only looks: nothing is made, changed
//! or kept, and a running gateway does not notice.

mod agents;
mod certificate;
mod confine;
mod data;
mod exposure;
mod limits;
mod live;
mod login;
mod models;
mod port;
mod project;
mod python;
mod report;
mod screen;
mod settings;
mod tls;
mod webhook;

pub use report::{Finding, Report, Verdict};
pub use screen::Screen;

use crate::config::{self, Config, ConfigError, Exposed, Overrides};
use agents::Boxes;

/// Looks at everything; with settings that cannot be read there is nothing else to look at.
pub fn examine(overrides: Overrides, screen: &Screen) -> Report {
    let file = config::file(&overrides);
    let mut findings = Vec::new();
    let loaded = load(overrides, &mut findings);
    let has = |findings: &[Finding], check| findings.iter().any(|found| found.check == check);
    let has_project = !has(&findings, project::CHECK);
    let may_listen = !has(&findings, exposure::CHECK);
    findings.insert(0, settings::finding(file.as_deref(), &loaded));
    if let Ok(config) = loaded {
        let project = has_project.then(|| project::look(&config));
        let directories = project.as_ref().map_or(0, |(_, directories)| *directories);
        let (of_data, running) = data::look(&config.data);
        findings.extend(of_data);
        findings.push(limits::control_path(&config.data));
        findings.push(port::finding(config.listen, running));
        findings.extend(may_listen.then(|| exposure::finding(&config)));
        findings.push(tls::finding(config.tls.as_ref()));
        findings.extend(login::findings(&config));
        findings.extend(project.into_iter().flat_map(|(of_project, _)| of_project));
        findings.push(limits::watches(directories));
        findings.push(limits::open_files(config.limits.connections));
        findings.extend(models::findings(&config));
        findings.extend(live::findings(&config));
        findings.extend(webhook::finding(config.webhook.as_ref()));
        findings.push(confine::finding(&config));
        findings.push(python::finding(&config));
        let boxes = if config.box_rules.enabled { Boxes::On } else { Boxes::Off };
        findings.extend(agents::findings(&config.agents, boxes));
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        findings.extend(screen.findings(config.listen, scheme));
    }
    Report::new(findings)
}

/// What keeps the gateway from starting is a finding; the rest can be looked at all the same.
fn load(mut overrides: Overrides, findings: &mut Vec<Finding>) -> Result<Config, ConfigError> {
    loop {
        match Config::load(overrides.clone()) {
            Err(ConfigError::Project(path)) => {
                findings.push(project::missing(&path));
                overrides.project = Some("/".into());
            }
            Err(ConfigError::Exposed(why)) => {
                findings.push(exposure::refused(why));
                let (Exposed::NoUsers(listen) | Exposed::NotPrivate(listen)) = why;
                overrides.listen = Some(format!("127.0.0.1:{}", listen.port()));
            }
            loaded => return loaded,
        }
    }
}
