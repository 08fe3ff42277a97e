//! The TOML file, read with the line of every key.

use super::{Origin, Settled, Wrong, find};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Applies the file's text; gives back everything that is wrong with it.
pub fn apply(text: &str, path: &Path, settled: &mut Settled) -> Vec<Wrong> {
    match DeTable::parse(text) {
        Ok(table) => {
            let mut walk = Walk {
                text,
                path,
                settled,
                wrong: Vec::new(),
            };
            walk.table("", table.get_ref());
            // The table is sorted by key; people read their file from the top.
            walk.wrong.sort_by_key(|(line, _)| *line);
            walk.wrong.into_iter().map(|(_, wrong)| wrong).collect()
        }
        Err(error) => {
            let line = line_of(text, error.span().map_or(0, |span| span.start));
            let what = error.message();
            vec![Wrong {
                sentence: format!("{}:{line}: expected TOML: {what}", path.display()),
            }]
        }
    }
}

struct Walk<'a> {
    text: &'a str,
    path: &'a Path,
    settled: &'a mut Settled,
    wrong: Vec<(usize, Wrong)>,
}

impl Walk<'_> {
    fn table(&mut self, section: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = if section.is_empty() {
                key.get_ref().to_string()
            } else {
                format!("{section}.{}", key.get_ref())
            };
            let line = line_of(self.text, key.span().start);
            match value.get_ref() {
                _ if name == "mcp.servers" => self.servers(value),
                DeValue::Table(inner) => self.table(&name, inner),
                DeValue::Array(_) => {
                    self.refuse(line, &format!("expected one value for {name}, got a list"));
                }
                DeValue::String(_)
                | DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_) => self.set(&name, value, line),
            }
        }
    }

    fn set(&mut self, name: &str, value: &Spanned<DeValue<'_>>, line: usize) {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Datetime(_) => {
                self.text.get(value.span()).unwrap_or_default().to_owned()
            }
            DeValue::Array(_) | DeValue::Table(_) => return,
        };
        match find(name) {
            Ok(setting) => {
                let origin = Origin::File(self.path.to_owned(), line);
                if let Err(wrong) = self.settled.set(setting, &text, origin) {
                    self.wrong.push((line, wrong));
                }
            }
            Err(sentence) => self.refuse(line, &sentence),
        }
    }

    #[cfg(feature = "mcp")]
    fn servers(&mut self, value: &Spanned<DeValue<'_>>) {
        match super::servers::read(value) {
            Ok(servers) => self.settled.plan.mcp_servers = servers,
            Err(wrong) => {
                for (at, sentence) in wrong {
                    self.refuse(line_of(self.text, at), &sentence);
                }
            }
        }
    }

    #[cfg(not(feature = "mcp"))]
    fn servers(&mut self, value: &Spanned<DeValue<'_>>) {
        let line = line_of(self.text, value.span().start);
        self.refuse(line, "mcp.servers needs a build with the feature `mcp`");
    }

    fn refuse(&mut self, line: usize, sentence: &str) {
        let sentence = format!("{}:{line}: {sentence}", self.path.display());
        self.wrong.push((line, Wrong { sentence }));
    }
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text
        .as_bytes()
        .iter()
        .take(at)
        .filter(|byte| **byte == b'\n')
        .count()
}
