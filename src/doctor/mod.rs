//! `kakehashi doctor`: looks at what the gateway needs and says what to do. It only looks: nothing is made, changed
//! or kept, and a running gateway does not notice.

mod data;
mod limits;
mod port;
mod project;
mod report;
mod screen;
mod settings;

pub use report::{Finding, Report, Verdict};
pub use screen::Screen;

use crate::config::{self, Config, ConfigError, Models, Overrides};

/// Looks at everything; with settings that cannot be read there is nothing else to look at.
pub fn examine(overrides: Overrides, screen: &Screen) -> Report {
    let file = config::file(&overrides);
    let mut findings = Vec::new();
    let loaded = match Config::load(overrides.clone()) {
        Ok(config) => Ok(config),
        Err(ConfigError::Project(path)) => {
            findings.push(project::missing(&path));
            // The rest can be looked at all the same.
            Config::load(Overrides { project: Some("/".into()), ..overrides })
        }
        Err(err) => Err(err),
    };
    let has_project = findings.is_empty();
    findings.insert(0, settings::finding(file.as_deref(), loaded.as_ref().err()));
    if let Ok(config) = loaded {
        let project = has_project.then(|| project::look(&config));
        let directories = project.as_ref().map_or(0, |(_, directories)| *directories);
        let (of_data, running) = data::look(&config.data);
        findings.extend(of_data);
        findings.push(limits::control_path(&config.data));
        findings.push(port::finding(config.listen, running));
        findings.extend(project.into_iter().flat_map(|(of_project, _)| of_project));
        findings.push(limits::watches(directories));
        findings.push(limits::open_files(config.limits.connections));
        findings.push(models(config.models));
        findings.extend(screen.findings(config.listen));
    }
    Report::new(findings)
}

fn models(models: Models) -> Finding {
    match models {
        Models::Scripted => Finding::ok(
            "models",
            "scripted: they echo, play the microphone back and carry out simple lines; no network, no key, and no \
             real answers",
        ),
    }
}
