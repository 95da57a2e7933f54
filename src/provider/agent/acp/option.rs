//! How an agent is brought into a mode or to a model: by its modes, by its options, or not at all.

use agent_client_protocol_schema::v1::{
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOptions, SessionModeState,
};

/// What a session of an agent can be set to.
#[derive(Debug, Default)]
pub(super) struct Choices {
    pub(super) modes: Option<SessionModeState>,
    pub(super) options: Vec<SessionConfigOption>,
}

/// What has to be asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Switch {
    Already,
    Mode,
    Option {
        id: String,
    },
    /// It does not have that; this is what it has.
    Missing {
        offered: Vec<String>,
    },
}

impl Choices {
    /// An option that is named goes before modes; otherwise modes go first, because all who have both keep them equal.
    pub(super) fn mode(&self, wanted: &str, option: Option<&str>) -> Switch {
        let by_option = self.option(wanted, option, &SessionConfigOptionCategory::Mode);
        let by_mode = self.by_mode(wanted);
        let (first, second) =
            if option.is_some() { (by_option, by_mode) } else { (by_mode, by_option) };
        match (first, second) {
            (Switch::Missing { offered }, Switch::Missing { offered: more }) => {
                Switch::Missing { offered: offered.into_iter().chain(more).collect() }
            }
            (Switch::Missing { .. }, found) | (found, _) => found,
        }
    }

    pub(super) fn model(&self, wanted: &str, option: Option<&str>) -> Switch {
        self.option(wanted, option, &SessionConfigOptionCategory::Model)
    }

    fn by_mode(&self, wanted: &str) -> Switch {
        let Some(modes) = &self.modes else { return Switch::Missing { offered: Vec::new() } };
        let ids = modes.available_modes.iter().map(|mode| mode.id.to_string());
        let ids: Vec<String> = ids.collect();
        if *modes.current_mode_id.0 == *wanted {
            Switch::Already
        } else if ids.iter().any(|id| id == wanted) {
            Switch::Mode
        } else {
            Switch::Missing { offered: ids }
        }
    }

    fn option(
        &self,
        wanted: &str,
        named: Option<&str>,
        category: &SessionConfigOptionCategory,
    ) -> Switch {
        let is_meant = |option: &&SessionConfigOption| match named {
            Some(name) => *option.id.0 == *name,
            None => option.category.as_ref() == Some(category),
        };
        let mut offered = Vec::new();
        for option in self.options.iter().filter(is_meant) {
            let SessionConfigKind::Select(select) = &option.kind else { continue };
            if *select.current_value.0 == *wanted {
                return Switch::Already;
            }
            let values = values(&select.options);
            if values.iter().any(|value| value == wanted) {
                return Switch::Option { id: option.id.to_string() };
            }
            offered.extend(values);
        }
        Switch::Missing { offered }
    }
}

fn values(options: &SessionConfigSelectOptions) -> Vec<String> {
    match options {
        SessionConfigSelectOptions::Ungrouped(options) => {
            options.iter().map(|option| option.value.to_string()).collect()
        }
        SessionConfigSelectOptions::Grouped(groups) => {
            let options = groups.iter().flat_map(|group| &group.options);
            options.map(|option| option.value.to_string()).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn modes() -> Option<SessionModeState> {
        let modes = json!([{"id": "auto", "name": "Auto"}, {"id": "ask", "name": "Ask"}]);
        let state = json!({"currentModeId": "auto", "availableModes": modes});
        Some(serde_json::from_value(state).unwrap())
    }

    fn options() -> Vec<SessionConfigOption> {
        let values = json!([{"value": "yolo", "name": "Yolo"}, {"value": "ask", "name": "Ask"}]);
        let option = json!([{"id": "how", "name": "How", "category": "mode", "type": "select",
            "currentValue": "yolo", "options": values}]);
        serde_json::from_value(option).unwrap()
    }

    #[test]
    fn modes_and_options_both_lead_there() {
        let both = Choices { modes: modes(), options: options() };
        assert_eq!(both.mode("ask", None), Switch::Mode);
        assert_eq!(both.mode("auto", None), Switch::Already);
        assert_eq!(both.mode("ask", Some("how")), Switch::Option { id: "how".to_owned() });
        assert_eq!(both.mode("yolo", None), Switch::Already);
        let only = Choices { modes: None, options: options() };
        assert_eq!(only.mode("ask", None), Switch::Option { id: "how".to_owned() });
        assert_eq!(only.mode("ask", Some("other")), Switch::Missing { offered: Vec::new() });
        let offered = ["auto", "ask", "yolo", "ask"].map(str::to_owned).to_vec();
        assert_eq!(both.mode("plan", None), Switch::Missing { offered });
        assert_eq!(both.model("ask", None), Switch::Missing { offered: Vec::new() });
    }
}
