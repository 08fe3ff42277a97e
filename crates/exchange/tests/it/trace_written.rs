//! The four ways a trace is written, for any ids and however long.

use crate::library::{full, json_of, message, text, world};
use crate::world::World;
use interwire_exchange::Settings;
use interwire_exchange::trace::{Style, Trace};
use protocol::{Act, json};

#[test]
fn the_tree_is_aligned_and_says_everything_on_its_lines() {
    let mut world = World::new();
    let first = message("m-1", "human:adam", &["agent:router"], "CONV_1", "").with(|header| {
        header.kind = "task".into();
        header.intent = Some("quox.security.scan".into());
        header.act = Act::Request;
    });
    let second = message("m-2", "agent:router", &["agent:scanner"], "CONV_1", "m-1");
    let error = message("m-3", "agent:scanner", &["agent:router"], "CONV_1", "m-2")
        .with(|header| header.act = Act::Fail);
    let event = message("m-4", "agent:router", &[], "CONV_1", "m-1")
        .with(|header| header.topics = vec!["ops.alerts".into()]);
    for message in [first, second, error, event] {
        world.publish(message);
        world.pass(1_500);
    }
    let place = world.inbox("agent:router").unwrap();
    let leases = world.pull(place, 1);
    world.ack(&leases);
    let shown = text(&full(&world, "m-3"));
    let expected = "\
conversation CONV_1: 4 messages, 4.500 s from 2026-02-28T10:30:00.000Z
     +0 ms  task quox.security.scan  human:adam → agent:router     acked +6.000 s  m-1
  +1.500 s  ├─ agent.ready           agent:router → agent:scanner  waiting  m-2
  +3.000 s  │  └─ agent.ready        agent:scanner → agent:router  waiting  m-3
  +4.500 s  └─ agent.ready           agent:router → #ops.alerts  m-4
";
    assert_eq!(shown, expected);
    let mut coloured = String::new();
    let style = Style { is_coloured: true };
    full(&world, "m-3")
        .write_text(&mut coloured, style)
        .unwrap();
    assert!(
        coloured.contains("\x1b[31magent.ready\x1b[0m"),
        "a failure is red"
    );
    let plain: String = strip(&coloured);
    assert_eq!(plain, expected);
}

fn strip(coloured: &str) -> String {
    let mut out = String::new();
    let mut rest = coloured;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        out.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    out + rest
}

/// `root`, then messages each caused by the one before it.
fn chain(count: usize) -> World {
    // A chain this long is no loop here.
    let mut settings = Settings::default();
    settings.loops.hops_max = 0;
    let mut world = World::with(settings);
    let name = |n: usize| format!("m-{n}");
    for n in 0..count {
        let (from, to) = [("agent:a", "agent:b"), ("agent:b", "agent:a")][n % 2];
        let cause = if n == 0 { String::new() } else { name(n - 1) };
        world.publish(message(&name(n), from, &[to], "C", &cause));
    }
    world
}

#[test]
fn a_chain_of_20_000_causes_is_traced_in_lines_that_stay_short() {
    let world = chain(20_000);
    let trace = full(&world, "C");
    assert_eq!(trace.len(), 20_000);
    assert_eq!(trace.gaps(), 0);
    let shown = text(&trace);
    assert_eq!(shown.lines().count(), 20_001);
    assert!(shown.lines().all(|line| line.chars().count() < 200));
    let last = shown.lines().last().unwrap();
    assert!(
        last.contains("⋯19990 ") && last.contains("m-19999"),
        "{last}"
    );
    let mut size = 0;
    trace
        .write_json(&mut Counted(&mut size), &|at| at.to_string())
        .unwrap();
    assert!(size < 20_000 * 1_000, "{size} bytes");
}

struct Counted<'n>(&'n mut usize);

impl std::fmt::Write for Counted<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        *self.0 += text.len();
        Ok(())
    }
}

#[test]
fn json_names_the_cause_and_the_effects_of_every_message() {
    let world = world(vec![
        message("a", "agent:a", &["agent:b"], "C", ""),
        message("b", "agent:b", &["agent:a"], "C", "a"),
        message("c\"\\\u{1}", "agent:b", &["agent:a"], "C", "gone"),
    ]);
    let json = json_of(&full(&world, "C"));
    let document = json::read(json.as_bytes(), json::Limits::default()).unwrap();
    let root = document.root();
    assert_eq!(root.get("messages").unwrap().raw(), "3");
    assert_eq!(root.get("missing").unwrap().raw(), "1");
    let nodes: Vec<_> = root.get("nodes").unwrap().items().collect();
    assert_eq!(nodes[0].get("effects").unwrap().raw(), "[\"2\"]");
    assert_eq!(nodes[0].get("cause").unwrap().raw(), "null");
    let cause = nodes[1].get("cause").unwrap();
    assert_eq!(
        cause.raw(),
        "{\"id\":\"a\",\"cursor\":\"1\",\"state\":\"found\"}"
    );
    assert_eq!(nodes[2].get("id").unwrap().as_str().unwrap(), "c\"\\\u{1}");
    let delivery = nodes[0].get("deliveries").unwrap().items().next().unwrap();
    assert_eq!(delivery.get("party").unwrap().as_str().unwrap(), "agent:b");
    assert_eq!(delivery.get("state").unwrap().as_str().unwrap(), "waiting");
    let absent = root.get("absent").unwrap().items().next().unwrap();
    assert_eq!(absent.get("named_by").unwrap().raw(), "[\"3\"]");
}

/// Every name that could break out of a picture.
const HOSTILE: &str = "x\"]; n0 --> n1;\n%% <script> \\\" } \u{1b}[2J #quot;";

fn hostile() -> Trace {
    let world = world(vec![
        message(HOSTILE, HOSTILE, &[HOSTILE], HOSTILE, ""),
        message("b", "agent:b", &[HOSTILE], HOSTILE, HOSTILE),
        message("c", "agent:b", &[HOSTILE], HOSTILE, "gone\"];"),
    ]);
    full(&world, "b")
}

#[test]
fn no_id_breaks_out_of_a_mermaid_label() {
    let mut out = String::new();
    hostile().write_mermaid(&mut out).unwrap();
    let mut edges = 0;
    for line in out.lines().skip(1) {
        let line = line.trim_start();
        if line.starts_with("classDef") {
            continue;
        }
        let (head, rest) = line.split_once(['[', '(', ' ']).unwrap();
        assert!(head.starts_with(['n', 's']), "{line}");
        assert!(head[1..].bytes().all(|c| c.is_ascii_digit()), "{line}");
        if let Some(to) = rest.strip_prefix("--> ").or(rest.strip_prefix("-.-> ")) {
            assert!(to.starts_with('n') && to[1..].bytes().all(|c| c.is_ascii_digit()));
            edges += 1;
        } else {
            let quoted: Vec<&str> = rest.split('"').collect();
            assert_eq!(quoted.len(), 3, "one label: {line}");
            let label = quoted[1].replace("<br/>", "");
            assert!(
                !label.contains(['<', '>', '[', ']', ';', '{', '\u{1b}'].as_slice())
                    || label.contains('#'),
                "{line}"
            );
        }
    }
    assert_eq!(edges, 2);
}

/// Reads the part of the DOT language that a trace uses: `digraph ID { (attribute; | node; | edge;)* }`.
fn read_dot(text: &str) -> Result<(usize, usize), String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => {}
            '"' => {
                let mut token = String::from("\"");
                loop {
                    match rest.next().ok_or("a string does not end")? {
                        '\\' => {
                            token.push('\\');
                            token.push(rest.next().ok_or("nothing after a backslash")?);
                        }
                        '"' => break,
                        c if c.is_control() => return Err("a control character".into()),
                        c => token.push(c),
                    }
                }
                tokens.push(token);
            }
            '-' if rest.peek() == Some(&'>') => {
                rest.next();
                tokens.push("->".into());
            }
            '{' | '}' | '[' | ']' | ';' | ',' | '=' => tokens.push(c.to_string()),
            c if c.is_alphanumeric() || c == '_' || c == '.' => {
                let mut token = c.to_string();
                while let Some(c) = rest.next_if(|c| c.is_alphanumeric() || *c == '_' || *c == '.')
                {
                    token.push(c);
                }
                tokens.push(token);
            }
            c => return Err(format!("unexpected {c:?}")),
        }
    }
    let body = match tokens.as_slice() {
        [graph, name, open, body @ .., close]
            if graph == "digraph" && name.starts_with('"') && open == "{" && close == "}" =>
        {
            body
        }
        _ => return Err("no digraph".into()),
    };
    let (mut nodes, mut edges) = (0, 0);
    for statement in body
        .split(|token| token == ";")
        .filter(|one| !one.is_empty())
    {
        let words: Vec<&str> = statement.iter().map(String::as_str).collect();
        match words.as_slice() {
            [_, "=", _] | ["node", "[", .., "]"] => {}
            [_, "->", _] | [_, "->", _, "[", .., "]"] => edges += 1,
            [name, "[", "label", "=", label, .., "]"]
                if name.starts_with(['n', 's']) && label.starts_with('"') =>
            {
                nodes += 1;
            }
            other => return Err(format!("unexpected statement {other:?}")),
        }
    }
    Ok((nodes, edges))
}

#[test]
fn dot_can_be_read_back_whatever_the_ids() {
    let mut out = String::new();
    hostile().write_dot(&mut out).unwrap();
    assert_eq!(read_dot(&out), Ok((4, 2)), "{out}");
}
