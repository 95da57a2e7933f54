//! How an agent is brought into a mode or to a model: by its modes, by its options, or not at all.

use agent_client_protocol_schema::v1::{
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOptions, SessionConfigValueId, SessionModeId, SessionModeState,
};

/// What a session of an agent can be set to.
#[derive(Debug, Default)]
pub(super) struct Choices {
    modes: Option<SessionModeState>,
    options: Vec<SessionConfigOption>,
    /// What is not offered may be there all the same: it was offered when the session was new.
    is_repeated: bool,
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
    /// By a new session.
    pub(super) fn offered(
        modes: Option<SessionModeState>,
        options: Option<Vec<SessionConfigOption>>,
    ) -> Self {
        Self { modes, options: options.unwrap_or_default(), is_repeated: false }
    }

    /// By one that goes on.
    pub(super) fn repeated(
        modes: Option<SessionModeState>,
        options: Option<Vec<SessionConfigOption>>,
    ) -> Self {
        Self { is_repeated: true, ..Self::offered(modes, options) }
    }

    /// The agent has changed its mode.
    pub(super) fn change_mode(&mut self, mode: SessionModeId) {
        match &mut self.modes {
            Some(modes) => modes.current_mode_id = mode,
            None if self.is_repeated => self.modes = Some(SessionModeState::new(mode, Vec::new())),
            // By what it calls its options nothing can be said about this.
            None => {}
        }
    }

    /// The agent has changed an option; these are all of them.
    pub(super) fn change_options(&mut self, options: Vec<SessionConfigOption>) {
        self.options = options;
    }

    /// We have brought it there, and who has modes and an option keeps them equal.
    pub(super) fn set_mode(&mut self, wanted: &str, named: Option<&str>) {
        if self.by_mode(wanted) != Switch::Already && named.is_none() {
            self.change_mode(SessionModeId::new(wanted));
        }
        for option in self.options.iter_mut().filter(|option| is_mode(option, named)) {
            if let SessionConfigKind::Select(select) = &mut option.kind {
                select.current_value = SessionConfigValueId::new(wanted);
            }
        }
    }

    /// The mode in which it works, if that is not the one that is wanted. What does not know that mode says nothing.
    pub(super) fn left(&self, wanted: &str, named: Option<&str>) -> Option<&str> {
        let modes = self.modes.as_ref().filter(|modes| {
            let offered = &modes.available_modes;
            offered.is_empty() || offered.iter().any(|mode| *mode.id.0 == *wanted)
        });
        let mode = modes.filter(|_| named.is_none()).map(|modes| &*modes.current_mode_id.0);
        let options = self.options.iter().filter(|option| is_mode(option, named));
        let chosen = options.filter_map(|option| {
            let SessionConfigKind::Select(select) = &option.kind else { return None };
            let known = values(&select.options).iter().any(|value| value == wanted);
            known.then_some(&*select.current_value.0)
        });
        chosen.chain(mode).find(|current| *current != wanted)
    }

    /// An option that is named goes before modes; otherwise modes go first, because all who have both keep them equal.
    /// Who was told only by one of the two that it has left is brought back by that one.
    pub(super) fn mode(&self, wanted: &str, option: Option<&str>) -> Switch {
        let by_option = self.option(wanted, option, &SessionConfigOptionCategory::Mode);
        let by_mode = self.by_mode(wanted);
        let (first, second) =
            if option.is_some() { (by_option, by_mode) } else { (by_mode, by_option) };
        match (first, second) {
            (Switch::Missing { offered }, Switch::Missing { offered: more }) => {
                let offered: Vec<String> = offered.into_iter().chain(more).collect();
                match option {
                    // Some tell what they offer only once.
                    Some(id) if self.is_repeated && offered.is_empty() => {
                        Switch::Option { id: id.to_owned() }
                    }
                    None if self.is_repeated && offered.is_empty() => Switch::Mode,
                    Some(_) | None => Switch::Missing { offered },
                }
            }
            (Switch::Missing { .. }, found) | (found, Switch::Missing { .. }) => found,
            (Switch::Already, other) if option.is_none() => other,
            (found, _) => found,
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
        } else if ids.iter().any(|id| id == wanted) || (self.is_repeated && ids.is_empty()) {
            // Of modes that it did not repeat only the one it changed to is known.
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
        let mut is_there = false;
        for option in self.options.iter().filter(is_meant) {
            let SessionConfigKind::Select(select) = &option.kind else { continue };
            let values = values(&select.options);
            if *select.current_value.0 == *wanted {
                is_there = true;
            } else if values.iter().any(|value| value == wanted) {
                return Switch::Option { id: option.id.to_string() };
            }
            offered.extend(values);
        }
        if is_there { Switch::Already } else { Switch::Missing { offered } }
    }
}

fn is_mode(option: &SessionConfigOption, named: Option<&str>) -> bool {
    match named {
        Some(name) => *option.id.0 == *name,
        None => option.category.as_ref() == Some(&SessionConfigOptionCategory::Mode),
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
        let both = Choices::offered(modes(), Some(options()));
        assert_eq!(both.mode("ask", None), Switch::Mode);
        assert_eq!(both.mode("auto", None), Switch::Already);
        assert_eq!(both.mode("ask", Some("how")), Switch::Option { id: "how".to_owned() });
        assert_eq!(both.mode("yolo", None), Switch::Already);
        let only = Choices::offered(None, Some(options()));
        assert_eq!(only.mode("ask", None), Switch::Option { id: "how".to_owned() });
        assert_eq!(only.mode("ask", Some("other")), Switch::Missing { offered: Vec::new() });
        let offered = ["auto", "ask", "yolo", "ask"].map(str::to_owned).to_vec();
        assert_eq!(both.mode("plan", None), Switch::Missing { offered });
        assert_eq!(both.model("ask", None), Switch::Missing { offered: Vec::new() });
    }

    #[test]
    fn who_goes_on_may_have_what_it_does_not_repeat() {
        let silent = Choices::repeated(None, None);
        assert_eq!(silent.mode("ask", None), Switch::Mode);
        assert_eq!(silent.mode("ask", Some("how")), Switch::Option { id: "how".to_owned() });
        let others = Choices::repeated(modes(), None);
        assert!(matches!(others.mode("yolo", None), Switch::Missing { .. }));
        assert!(matches!(Choices::offered(None, None).mode("ask", None), Switch::Missing { .. }));
    }

    #[test]
    fn who_leaves_the_mode_is_noticed_however_that_is_told() {
        for changed_by_option in [false, true] {
            let mut both = Choices::offered(modes(), Some(options()));
            both.set_mode("ask", None);
            assert_eq!(both.left("ask", None), None);
            if changed_by_option {
                both.change_options(options());
                assert_eq!(both.left("ask", None), Some("yolo"));
            } else {
                both.change_mode("auto".into());
                assert_eq!(both.left("ask", None), Some("auto"));
            }
            both.set_mode("ask", None);
            assert_eq!(both.left("ask", None), None);
        }
        let mut named = Choices::offered(modes(), Some(options()));
        assert_eq!(named.left("ask", Some("how")), Some("yolo"));
        named.set_mode("ask", Some("how"));
        assert_eq!(named.left("ask", Some("how")), None, "its modes are something else");
        let mut silent = Choices::repeated(None, None);
        silent.set_mode("ask", None);
        silent.change_mode("auto".into());
        assert_eq!(silent.left("ask", None), Some("auto"));
        let mut foreign = Choices::offered(None, Some(options()));
        foreign.set_mode("ask", None);
        foreign.change_mode("build".into());
        assert_eq!(foreign.left("ask", None), None, "that is no name of an option");
    }

    #[test]
    fn who_has_left_by_one_way_only_is_not_there_already() {
        let by_option = Switch::Option { id: "how".to_owned() };
        let mut both = Choices::offered(modes(), Some(options()));
        both.set_mode("ask", None);
        assert_eq!(both.mode("ask", None), Switch::Already);
        both.change_options(options());
        assert_eq!(both.mode("ask", None), by_option);
        both.set_mode("ask", None);
        both.change_mode("auto".into());
        assert_eq!(both.mode("ask", None), Switch::Mode);
        assert_eq!(both.mode("ask", Some("how")), Switch::Already, "modes are something else");
        let mut silent = Choices::repeated(None, Some(options()));
        silent.set_mode("ask", None);
        silent.change_mode("auto".into());
        assert_eq!(silent.mode("ask", None), Switch::Mode);
        let mut two = options();
        two.extend(options());
        let mut several = Choices::offered(None, Some(two.clone()));
        several.set_mode("ask", None);
        two[0] = several.options[0].clone();
        several.change_options(two);
        assert_eq!(several.left("ask", None), Some("yolo"));
        assert_eq!(several.mode("ask", None), by_option);
    }
}
