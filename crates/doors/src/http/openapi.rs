//! `/v1/openapi.json`: the description of every route, written by hand in `openapi.json` and checked
//! against the table.

use super::call::{Answer, Call, typed};
use axum::http::StatusCode;

const DOCUMENT: &str = include_str!("openapi.json");

pub(crate) async fn openapi(call: Call) -> Answer {
    call.no_query()?;
    Ok(typed(StatusCode::OK, "application/json", DOCUMENT))
}

#[cfg(test)]
mod tests {
    use super::DOCUMENT;
    use crate::http::ROUTES;
    use std::collections::BTreeSet;

    type Line = (String, String, String, String);

    fn text(value: &serde_json::Value) -> String {
        value.as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn the_document_and_the_table_describe_the_same_routes() {
        let document: serde_json::Value = serde_json::from_str(DOCUMENT).expect("JSON");
        assert_eq!(document["openapi"], "3.1.0");
        let mut described: BTreeSet<Line> = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for (method, operation) in methods.as_object().expect("methods") {
                if method != "parameters" {
                    let (name, summary) = (&operation["operationId"], &operation["summary"]);
                    let line = (
                        path.clone(),
                        method.to_uppercase(),
                        text(name),
                        text(summary),
                    );
                    described.insert(line);
                }
            }
        }
        let table: BTreeSet<Line> = ROUTES
            .iter()
            .map(|route| {
                let verb = route.verb.as_str().to_owned();
                (
                    route.path.to_owned(),
                    verb,
                    route.name.to_owned(),
                    route.summary.to_owned(),
                )
            })
            .collect();
        assert_eq!(table, described);
        assert_eq!(table.len(), ROUTES.len());
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_path_parameter_is_described() {
        let document: serde_json::Value = serde_json::from_str(DOCUMENT).expect("JSON");
        let mut references = Vec::new();
        collect(&document, &mut references);
        assert!(!references.is_empty());
        for reference in references {
            let pointer = reference.strip_prefix('#').expect("a local reference");
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        for route in ROUTES {
            let operation = &document["paths"][route.path][route.verb.as_str().to_lowercase()];
            for part in route
                .path
                .split('/')
                .filter_map(|part| part.strip_prefix('{'))
            {
                let name = part.trim_end_matches('}');
                let parameters = operation["parameters"].as_array().expect("parameters");
                let is_it = |p: &&serde_json::Value| p["name"] == name && p["in"] == "path";
                assert!(
                    parameters.iter().any(|p| is_it(&p)),
                    "{} lacks {name}",
                    route.path
                );
            }
        }
    }

    fn collect(value: &serde_json::Value, into: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(members) => {
                for (name, member) in members {
                    if name == "$ref" {
                        into.push(text(member));
                    }
                    collect(member, into);
                }
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
            _ => {}
        }
    }
}
