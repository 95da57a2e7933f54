//! Databases: statements that delete whole tables, or rows without saying which.

use super::field::{Feed, Field};
use super::reason;
use super::walk::Walker;

/// Programs that carry out SQL.
const CLIENTS: [&str; 19] = [
    "psql",
    "pgcli",
    "mysql",
    "mycli",
    "mariadb",
    "sqlite3",
    "sqlite",
    "litecli",
    "duckdb",
    "sqlcmd",
    "sqlplus",
    "usql",
    "cqlsh",
    "clickhouse-client",
    "clickhouse",
    "cockroach",
    "snowsql",
    "trino",
    "bq",
];
/// What `DROP` deletes for good. An index or a view can be made again.
const DROPPED: [&str; 9] =
    ["DATABASE", "SCHEMA", "TABLE", "KEYSPACE", "USER", "ROLE", "TABLESPACE", "COLUMN", "OWNED"];
/// Words of other databases and of tools around them.
const OTHERS: [&str; 22] = [
    "db:wipe",
    "db:migrate:reset",
    "schema:drop",
    "doctrine:database:drop",
    "doctrine:schema:drop",
    "ecto.drop",
    "ecto.reset",
    "firestore:delete",
    "database:remove",
    "drop-all",
    "flushall",
    "flushdb",
    "db:drop",
    "db:drop:all",
    "db:reset",
    "db:purge",
    "migrate:fresh",
    "migrate:reset",
    "pg:reset",
    "dropdatabase()",
    "db.dropdatabase()",
    "sqlflush",
];
/// What the shells of document databases are told.
const CALLS: [&str; 4] = ["dropdatabase(", ".drop(", "deletemany({})", ".remove({})"];

pub(super) fn is_client(name: &str) -> bool {
    CLIENTS.contains(&name)
}

impl Walker<'_> {
    /// Whatever the program is: some words mean the same everywhere.
    pub(super) fn data(&mut self, name: &str, arguments: &[Field], input: &Feed) {
        let mut texts: Vec<&str> = Vec::new();
        for field in arguments {
            texts.push(&field.text);
            if let Some(Feed::Known(text)) = &field.feed {
                texts.push(text);
            }
        }
        if let Feed::Known(text) = input {
            texts.push(text);
        }
        let deletes = match name {
            "mongo" | "mongosh" => texts.iter().any(|text| {
                let text = text.to_lowercase().replace(' ', "");
                CALLS.iter().any(|call| text.contains(call))
            }),
            "redis-cli" | "valkey-cli" => {
                let is_unknown = arguments.iter().any(Field::is_unknown);
                texts.iter().any(|text| {
                    let mut words = text.split_whitespace().map(str::to_lowercase);
                    words.any(|word| {
                        let removes = matches!(word.as_str(), "del" | "unlink") && is_unknown;
                        OTHERS.contains(&word.as_str()) || removes
                    })
                })
            }
            "mysqladmin" => texts.contains(&"drop"),
            _ if is_client(name) => texts.iter().any(|text| destroys(text)),
            _ => texts.iter().any(|text| OTHERS.contains(text)) || resets(&texts),
        };
        if deletes {
            self.critical(reason::DATA);
        }
        let is_fed = input.is_downloaded() || arguments.iter().any(Field::is_downloaded);
        if is_client(name) && is_fed {
            self.critical(reason::DOWNLOADED);
        }
    }
}

/// `prisma migrate reset`, `sequelize db drop`
fn resets(texts: &[&str]) -> bool {
    texts.windows(2).any(|pair| {
        matches!(pair, ["migrate", "reset"] | ["db" | "database", "drop" | "reset" | "wipe"])
    })
}

/// Whether a statement of this text deletes more than it names. An option may stand before it.
pub(super) fn destroys(text: &str) -> bool {
    let upper = text.to_uppercase();
    // These run a text.
    let runs_texts = ["EXECUTE", "PREPARE", "\\GEXEC"].iter().any(|word| upper.contains(word));
    bare(&upper, runs_texts).split(';').any(|statement| {
        let is_letter = |one: char| one.is_alphanumeric() || one == '_';
        let words: Vec<_> =
            statement.split(|one| !is_letter(one)).filter(|word| !word.is_empty()).collect();
        let has = |word: &str| words.iter().any(|one| one.ends_with(word));
        let follows = |first: &str, seconds: &[&str]| {
            let fits = |pair: &[&str]| pair[0].ends_with(first) && seconds.contains(&pair[1]);
            words.windows(2).any(fits)
        };
        let changes_all = (follows("DELETE", &["FROM"])
            || (has("UPDATE") && words.contains(&"SET")))
            && !has_limit(&words);
        follows("DROP", &DROPPED)
            || (has("DROP") && words.contains(&"CASCADE"))
            || changes_all
            || words.first().is_some_and(|word| word.ends_with("TRUNCATE"))
            || follows("TRUNCATE", &["TABLE"])
    })
}

/// `WHERE true` and `WHERE 1 = 1` are none.
fn has_limit(words: &[&str]) -> bool {
    let Some(at) = words.iter().position(|word| *word == "WHERE") else { return false };
    !matches!(words[at + 1..], [] | ["TRUE", ..] | ["1"] | ["1", "1", ..])
}

/// Without comments, and without texts in quotes.
fn bare(text: &str, keeps_texts: bool) -> String {
    let mut found = String::new();
    let mut rest = text.replace("/*!", " ");
    while let Some((before, after)) = rest.split_once("/*") {
        found.push_str(before);
        found.push(' ');
        rest = after.split_once("*/").map_or("", |(_, after)| after).to_owned();
    }
    found.push_str(&rest);
    let lines = found.lines().map(|line| line.split(" -- ").next().unwrap_or_default());
    let found = lines.collect::<Vec<_>>().join("\n");
    if keeps_texts {
        return found;
    }
    found.split('\'').step_by(2).collect::<Vec<_>>().join(" '' ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_without_a_limit_destroy() {
        for text in [
            "DROP DATABASE x",
            "drop\ttable\nusers",
            "-edrop schema x",
            "--command=drop table b",
            "select 1; drop table a;",
            "DROP/**/DATABASE x",
            "/*!50000 DROP DATABASE x */",
            "alter table a drop column b",
            "truncate users",
            "TRUNCATE TABLE a",
            "DELETE FROM a",
            "with x as (delete from a returning *) select 1",
            "update a set b = 1",
            "delete from a where 1=1",
            "update a set b = 1 where true",
            "drop view a cascade",
            "do $$ begin execute 'drop table a'; end $$",
            "select 'drop table a' \\gexec",
        ] {
            assert!(destroys(text), "{text}");
        }
        for text in [
            "select 1",
            "select 'drop table a'",
            "delete from a where b = 1",
            "UPDATE a SET b = 1 WHERE c = 2",
            "drop index a",
            "create table dropped (id int)",
            "select truncate(1.5, 1)",
            "insert into a values ('x; drop table b')",
            "select 1 -- drop table a",
        ] {
            assert!(!destroys(text), "{text}");
        }
    }
}
