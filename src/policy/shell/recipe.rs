//! Files that say what a program runs, such as a `Makefile`: what the script itself has written there is looked at.

use super::code::literals;
use super::field::Field;
use super::reason;
use super::walk::{Dirs, Walker};

/// Programs, and the files that they go by.
const RECIPES: [(&[&str], &[&str]); 7] = [
    (&["make", "gmake"], &["makefile", "gnumakefile"]),
    (&["npm", "pnpm", "yarn", "bun", "npx"], &["package.json"]),
    (&["just"], &["justfile", ".justfile"]),
    (&["rake"], &["rakefile"]),
    (&["task"], &["taskfile.yml", "taskfile.yaml"]),
    (&["cargo"], &["build.rs"]),
    (&["pytest", "tox", "pip"], &["conftest.py", "setup.py", "tox.ini"]),
];

impl Walker<'_> {
    pub(super) fn recipe(&mut self, name: &str, arguments: &[Field], dirs: &Dirs) {
        let usual = RECIPES.iter().filter(|(programs, _)| programs.contains(&name));
        let files = usual.flat_map(|(_, files)| files.iter().copied());
        let named = arguments.windows(2).filter(|pair| pair[0].text == "-f");
        let named = named.map(|pair| pair[1].text.clone());
        let files: Vec<_> = match name {
            "make" | "gmake" => files.map(str::to_owned).chain(named).collect(),
            _ => files.map(str::to_owned).collect(),
        };
        for file in files.iter().map(Field::new) {
            if self.was_fetched(&file) {
                self.critical(reason::DOWNLOADED);
            }
            if let Some(text) = self.content_of(&file) {
                let mut texts = literals(&text);
                texts.push(text);
                self.perhaps_texts(&texts, dirs);
            }
        }
    }
}
