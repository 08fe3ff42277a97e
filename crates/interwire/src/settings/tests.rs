use super::{Origin, Plan, SETTINGS, Settled, distance, file, find, settle};
use std::collections::HashSet;
use std::path::Path;

fn from_file(text: &str) -> (Settled, Vec<String>) {
    let mut settled = Settled::default();
    let wrong = file::apply(text, Path::new("x.toml"), &mut settled);
    (
        settled,
        wrong.into_iter().map(|wrong| wrong.sentence).collect(),
    )
}

#[test]
fn names_are_unique_and_so_are_their_variables() {
    let reserved = [
        "INTERWIRE_URL",
        "INTERWIRE_TOKEN",
        "INTERWIRE_AS",
        "INTERWIRE_CONFIG",
    ];
    let mut seen: HashSet<String> = reserved.map(str::to_owned).into();
    for setting in SETTINGS {
        assert!(seen.insert(setting.name.to_owned()), "{}", setting.name);
        assert!(
            seen.insert(setting.environment()),
            "{}",
            setting.environment()
        );
    }
}

#[test]
fn every_default_is_a_value_the_setting_takes() {
    for setting in SETTINGS {
        let mut plan = Plan::default();
        let default = setting.default();
        (setting.write)(&mut plan, &default).unwrap();
        assert_eq!((setting.read)(&plan), default, "{}", setting.name);
    }
}

#[test]
fn a_file_of_all_defaults_changes_nothing_and_is_where_everything_comes_from() {
    let mut text = String::new();
    for setting in SETTINGS {
        text.push_str(&format!(
            "{} = {}\n",
            setting.name,
            setting.toml(&setting.default())
        ));
    }
    let (settled, wrong) = from_file(&text);
    assert_eq!(wrong, Vec::<String>::new());
    for (at, setting) in SETTINGS.iter().enumerate() {
        assert_eq!((setting.read)(&settled.plan), setting.default());
        assert_eq!(
            settled.origin(setting),
            Origin::File("x.toml".into(), at + 1)
        );
    }
}

#[test]
fn sections_and_sizes_with_units_are_read() {
    let (settled, wrong) =
        from_file("segment_bytes = \"1 MiB\"\nqueue_max = 0x10\n\n[http]\npage_max = 1_0\n");
    assert_eq!(
        wrong,
        ["x.toml:2: expected queue_max to be a whole number of at least 1, got \"0x10\""]
    );
    assert_eq!(settled.plan.broker.segment_bytes, 1 << 20);
    assert_eq!(settled.plan.http.page_max, 10);
}

#[test]
fn every_wrong_line_is_named_with_a_suggestion() {
    let (_, wrong) =
        from_file("lisen = \"x\"\n[http]\npage_maxx = 5\ndepth_max = 1\n\n[zzzzzzzzzzzz]\nq = 1\n");
    assert_eq!(wrong.len(), 4, "{wrong:?}");
    assert!(wrong[0].starts_with("x.toml:1:") && wrong[0].contains("did you mean \"listen\""));
    assert!(
        wrong
            .iter()
            .any(|line| line.starts_with("x.toml:3:") && line.contains("http.page_max"))
    );
    assert!(
        wrong
            .iter()
            .any(|line| line.starts_with("x.toml:7:") && line.contains("config show"))
    );
    let (_, wrong) = from_file("a = \n");
    assert!(wrong[0].starts_with("x.toml:1: expected TOML"), "{wrong:?}");
}

#[test]
fn the_command_line_wins_over_the_environment() {
    let environment = |name: &str| match name {
        "INTERWIRE_QUEUE_MAX" => Some("7".to_owned()),
        "INTERWIRE_HTTP_PAGE_MAX" => Some("8".to_owned()),
        _ => None,
    };
    let flags = [("queue_max", "9".to_owned(), "--set".to_owned())];
    let settled = settle(None, &environment, &flags).unwrap();
    assert_eq!(
        (settled.plan.broker.queue_max, settled.plan.http.page_max),
        (9, 8)
    );
    assert_eq!(
        settled.origin(find("queue_max").unwrap()),
        Origin::Flag("--set".into())
    );
    assert_eq!(
        settled.origin(find("http.page_max").unwrap()),
        Origin::Environment("INTERWIRE_HTTP_PAGE_MAX".into())
    );
}

#[test]
fn distance_counts_single_changes() {
    for (one, other, expected) in [
        ("", "", 0),
        ("a", "", 1),
        ("kitten", "sitting", 3),
        ("ab", "ba", 2),
    ] {
        assert_eq!(distance(one, other), expected);
    }
}
