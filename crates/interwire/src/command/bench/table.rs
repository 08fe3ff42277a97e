//! The rows of one measurement: medians, how ours compares, and what was asked of it.

use super::bounds::Bound;
use crate::failure::Failure;
use crate::output;
use anyhow::{Result, anyhow};
use serde_json::{Map, Value, json};

/// One figure of every row.
#[derive(Debug)]
pub struct Column {
    /// What people read.
    pub head: &'static str,
    /// What programs read.
    pub key: &'static str,
    /// Digits after the point.
    pub digits: usize,
}

/// Shorthand for the tables of columns.
pub const fn column(head: &'static str, key: &'static str, digits: usize) -> Column {
    Column { head, key, digits }
}

/// A rate and the two percentiles that most measurements print.
pub const RATE_AND_TIMES: &[Column] = &[
    column("per second", "rate", 0),
    column("p50 ms", "p50_ms", 2),
    column("p99 ms", "p99_ms", 2),
];

/// One measurement.
#[derive(Debug)]
pub struct Table {
    work: &'static str,
    title: String,
    columns: &'static [Column],
    /// The column that ratios and bounds are about.
    compared: usize,
    /// Whether rows are systems, ours first; else they are cases of ours.
    has_ratios: bool,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    name: String,
    bound: Option<Bound>,
    rounds: Vec<Vec<f64>>,
}

impl Table {
    /// A table without rows.
    pub fn new(
        work: &'static str,
        title: String,
        columns: &'static [Column],
        compared: usize,
    ) -> Self {
        Self {
            work,
            title,
            columns,
            compared,
            has_ratios: true,
            rows: Vec::new(),
        }
    }

    /// Rows are not systems but cases of one.
    pub fn compares_nothing(&mut self) {
        self.has_ratios = false;
    }

    /// One round of the row `name`: a value for each column.
    pub fn add(&mut self, name: &str, bound: Option<Bound>, values: &[f64]) {
        let at = self.rows.iter().position(|row| row.name == name);
        let at = at.unwrap_or_else(|| {
            self.rows.push(Row {
                name: name.to_owned(),
                bound,
                rounds: Vec::new(),
            });
            self.rows.len() - 1
        });
        if let Some(row) = self.rows.get_mut(at) {
            row.rounds.push(values.to_vec());
        }
    }

    /// Prints the medians.
    pub fn print(&self, json: bool) -> Result<()> {
        let text = if json { self.json() } else { self.text() };
        match output::line(&text) {
            Ok(()) | Err(Failure::OutputClosed) => Ok(()),
            Err(failure) => Err(anyhow!(
                "{}",
                failure.sentence().unwrap_or("cannot write the table")
            )),
        }
    }

    /// How many times this row's figure ours is; ours is the first row. Only where systems compare.
    fn ratio(&self, row: &Row) -> Option<f64> {
        let ours = self.rows.first()?.median(self.compared);
        self.is_comparison()
            .then(|| ours / row.median(self.compared))
    }

    fn is_comparison(&self) -> bool {
        self.has_ratios && self.rows.len() > 1
    }

    /// What the row's bound is about: the ratio to a peer, or the figure itself.
    fn bounded(&self, row: &Row) -> Option<(Bound, f64)> {
        let bound = row.bound?;
        let value = match bound.against {
            Some(_) => self.ratio(row)?,
            None => row.median(self.compared),
        };
        Some((bound, value))
    }

    fn text(&self) -> String {
        let mut lines = vec![format!("\n{}", self.title)];
        let mut head = format!("  {:<36}", "system");
        for column in self.columns {
            head.push_str(&format!(" {:>13}", column.head));
        }
        if self.is_comparison() {
            head.push_str(&format!(" {:>13}", "ours / this"));
        }
        if self.rows.iter().any(|row| row.bound.is_some()) {
            head.push_str("   bound");
        }
        lines.push(head);
        for row in &self.rows {
            let mut line = format!("  {:<36}", row.name);
            for (at, column) in self.columns.iter().enumerate() {
                line.push_str(&format!(" {:>13}", figure(row.median(at), column.digits)));
            }
            if let Some(ratio) = self.ratio(row) {
                line.push_str(&format!(" {:>13}", figure(ratio, 2)));
            }
            if let Some((bound, value)) = self.bounded(row) {
                let digits = if bound.against.is_some() { 2 } else { 0 };
                let part = |limit: f64| {
                    format!(
                        "{} {limit:.digits$} {}",
                        bound.sign(),
                        verdict(bound.is_met(value, limit))
                    )
                };
                line.push_str(&format!("   {}, aim {}", part(bound.must), part(bound.aim)));
            }
            lines.push(line);
        }
        lines.join("\n")
    }

    fn json(&self) -> String {
        let lines = self.rows.iter().map(|row| {
            let mut object = Map::new();
            object.insert("work".into(), self.work.into());
            object.insert("case".into(), self.title.clone().into());
            object.insert("system".into(), row.name.clone().into());
            for (at, column) in self.columns.iter().enumerate() {
                object.insert(column.key.into(), number(row.median(at)));
            }
            object.insert("rounds".into(), row.rounds.len().into());
            if let Some(ratio) = self.ratio(row) {
                object.insert("ratio".into(), number(ratio));
                let compared = self.columns.get(self.compared).map(|column| column.key);
                object.insert("ratio_of".into(), compared.into());
            }
            if let Some((bound, value)) = self.bounded(row) {
                let part = |limit: f64| json!({"limit": limit, "verdict": verdict(bound.is_met(value, limit))});
                object.insert("direction".into(), bound.sign().into());
                object.insert("bound".into(), part(bound.must));
                object.insert("aim".into(), part(bound.aim));
            }
            Value::Object(object).to_string()
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Row {
    fn median(&self, column: usize) -> f64 {
        let mut values: Vec<f64> = self
            .rounds
            .iter()
            .filter_map(|round| round.get(column).copied())
            .collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

fn figure(value: f64, digits: usize) -> String {
    if value.is_finite() {
        format!("{value:.digits$}")
    } else {
        "-".into()
    }
}

/// To three digits after the point; `null` when there is nothing.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64((value * 1_000.0).round() / 1_000.0)
        .map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::{RATE_AND_TIMES, Table};
    use crate::command::bench::bounds::{Case, find};
    use crate::command::bench::wire::System;
    use broker::Durability;
    use serde_json::Value;

    fn table() -> Table {
        let bound = find(
            Case::Publish(1),
            Durability::Fsync,
            Some(System::RedisAlways),
        );
        let mut table = Table::new("publish", "one".into(), RATE_AND_TIMES, 0);
        for (ours, theirs) in [(900.0, 1_000.0), (1_000.0, 1_000.0), (5.0, 1_000.0)] {
            table.add("ours", None, &[ours, f64::NAN, 2.0]);
            table.add("theirs", bound, &[theirs, 1.0, 2.0]);
        }
        table
    }

    #[test]
    fn programs_read_medians_ratios_and_verdicts() {
        let text = table().json();
        let rows: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(rows[0]["rate"], 900.0);
        assert_eq!(rows[0]["p50_ms"], Value::Null);
        assert_eq!(rows[0].get("bound"), None);
        assert_eq!(rows[1]["ratio"], 0.9);
        assert_eq!(rows[1]["ratio_of"], "rate");
        assert_eq!(rows[1]["bound"]["limit"], 0.9);
        assert_eq!(rows[1]["bound"]["verdict"], "met");
        assert_eq!(rows[1]["aim"]["verdict"], "missed");
    }

    #[test]
    fn people_read_the_same() {
        let text = table().text();
        assert!(text.contains(">= 0.90 met, aim >= 1.20 missed"), "{text}");
        assert_eq!(text.matches("0.90 met").count(), 1);
    }

    #[test]
    fn an_absolute_bound_is_about_the_figure_itself() {
        let bound = find(Case::Http(64), Durability::Fsync, None);
        let mut table = Table::new("http", "one".into(), RATE_AND_TIMES, 0);
        table.add("ours", bound, &[12_000.0, 1.0, 1.0]);
        let row: Value = serde_json::from_str(&table.json()).unwrap();
        assert_eq!(row["bound"]["verdict"], "met");
        assert_eq!(row.get("ratio"), None);
        assert!(
            table.text().contains(">= 12000 met, aim >= 16000 missed"),
            "{}",
            table.text()
        );
    }
}
