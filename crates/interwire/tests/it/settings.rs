//! The configuration on the command line.

use crate::process::{finish, interwire, run};

#[test]
fn every_setting_is_shown_with_its_origin() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("i.toml");
    std::fs::write(&file, "queue_max = 5\n\n[http]\npage_max = 6\n").unwrap();
    let file = file.to_str().unwrap();
    let mut command = interwire(&[
        "config",
        "show",
        "--json",
        "--config",
        file,
        "--set",
        "depth_max=9",
    ]);
    command.env("INTERWIRE_HTTP_PAGE_MAX", "7");
    let shown = finish(command, "").json();
    let of = |name: &str| {
        let line = shown.iter().find(|line| line["name"] == name).unwrap();
        (
            line["value"].as_str().unwrap().to_owned(),
            line["origin"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(of("queue_max"), ("5".into(), format!("{file}:1")));
    assert_eq!(
        of("http.page_max"),
        ("7".into(), "INTERWIRE_HTTP_PAGE_MAX".into())
    );
    assert_eq!(of("depth_max"), ("9".into(), "--set depth_max".into()));
    assert_eq!(of("listen"), ("127.0.0.1:4747".into(), "default".into()));
}

#[test]
fn the_file_that_init_prints_is_accepted_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("i.toml");
    std::fs::write(&file, run(&["config", "init"]).out).unwrap();
    let file = file.to_str().unwrap();
    let checked = run(&["config", "check", "--config", file]);
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    let shown = run(&["config", "show", "--json", "--config", file]).json();
    assert!(shown.iter().all(|line| line["value"] == line["default"]));
}

#[test]
fn a_wrong_configuration_names_file_line_and_the_nearest_key() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("i.toml");
    std::fs::write(&file, "listen = \"nowhere\"\nque_max = 5\n").unwrap();
    let file = file.to_str().unwrap();
    for arguments in [
        ["config", "check", "--config", file],
        ["serve", "--ephemeral", "--config", file],
    ] {
        let ran = run(&arguments);
        assert_eq!(ran.code, Some(2));
        assert!(
            ran.err
                .contains(&format!("{file}:1: expected listen to be")),
            "{}",
            ran.err
        );
        assert!(ran.err.contains(&format!("{file}:2:")), "{}", ran.err);
        assert!(
            ran.err.contains("did you mean \"queue_max\""),
            "{}",
            ran.err
        );
    }
    assert_eq!(
        run(&["config", "check", "--config", "/no/such/file"]).code,
        Some(2)
    );
    assert_eq!(
        run(&["config", "check", "--set", "depth_max"]).code,
        Some(2)
    );
}

#[test]
fn a_variable_that_is_no_setting_is_warned_about() {
    let mut command = interwire(&["config", "check"]);
    command.env("INTERWIRE_HTTP_PAGEMAX", "7");
    let checked = finish(command, "");
    assert_eq!(checked.code, Some(0));
    let expected = "INTERWIRE_HTTP_PAGEMAX is no setting; did you mean INTERWIRE_HTTP_PAGE_MAX";
    assert!(checked.err.contains(expected), "{}", checked.err);
}
