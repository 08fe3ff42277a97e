//! Declarations of tools as a card: a skill and an intent with the schema of its task for each.

use crate::node::Node;
use crate::tree::Tree;
use crate::{LIMITS, MEMBER, RULE, intent};
use protocol::json;
use protocol::{Card, Code, Fault, Rejection};

/// Members of Google's schemas that JSON Schema spells otherwise.
const SPELLED: [(&str, &str); 10] = [
    ("any_of", "anyOf"),
    ("min_items", "minItems"),
    ("max_items", "maxItems"),
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("min_properties", "minProperties"),
    ("max_properties", "maxProperties"),
    ("additional_properties", "additionalProperties"),
    ("defs", "$defs"),
    ("ref", "$ref"),
];

/// A card named `name` of the tools that a document declares: function declarations of Google, tools of
/// OpenAI (both interfaces) and of Anthropic, alone, in a list, or in a request. Each tool is a skill,
/// and an intent whose task has the tool's parameters as its payload.
///
/// # Errors
/// Those of JSON and of [`Card::read`]; `missing_field` when nothing is declared.
pub fn card(text: &[u8], name: &str) -> Result<String, Rejection> {
    let document = json::read(text, LIMITS)?;
    let root = Node::root(document.root());
    let mut tools = Vec::new();
    find(&root, &mut tools)?;
    if tools.is_empty() {
        let detail =
            "expected declarations of tools, as openai, anthropic or google write them, got none";
        return Err(Fault::new(Code::MissingField, "", RULE, detail).into());
    }
    let (mut skills, mut intents) = (Vec::new(), Vec::new());
    for tool in tools {
        let mut skill = Tree::object([
            ("id", Tree::text(&tool.name)),
            ("name", Tree::text(&tool.name)),
        ]);
        let mut takes = Tree::object([("intent", Tree::text(&intent::of_tool(&tool.name)))]);
        if let Some(words) = &tool.description {
            skill.push("description", Tree::text(words));
            takes.push("description", Tree::text(words));
        }
        if let Some(schema) = tool.schema {
            takes.push("task", open(schema));
        }
        skills.push(skill);
        intents.push(takes);
    }
    let card = Tree::object([
        ("name", Tree::text(name)),
        ("dialects", Tree::List(vec![Tree::text("aee")])),
        ("skills", Tree::List(skills)),
        ("intents", Tree::List(intents)),
    ]);
    let card = Card::read(card.to_json().as_bytes(), LIMITS.bytes_max)?;
    Ok(card.document().to_owned())
}

struct Tool {
    name: String,
    description: Option<String>,
    schema: Option<Tree>,
}

fn find(node: &Node<'_>, tools: &mut Vec<Tool>) -> Result<(), Fault> {
    if node.is_list() {
        return node.children().iter().try_for_each(|one| find(one, tools));
    }
    if !node.is_object() {
        return Err(node.wrong("a tool as an object"));
    }
    if let Some(list) = node.any(&["functionDeclarations", "function_declarations"]) {
        return list.items()?.iter().try_for_each(|one| find(one, tools));
    }
    let config = node.any(&["config", "generationConfig"]);
    let inside = node.get("tools").or_else(|| config?.get("tools"));
    if let Some(list) = inside {
        return list.items()?.iter().try_for_each(|one| find(one, tools));
    }
    let node = match node.get("function") {
        Some(function) if node.is_text("type", "function") => function,
        Some(_) | None => node.clone(),
    };
    // A tool of the provider's own, such as a search, declares nothing.
    let Some(name) = node.text_of("name") else {
        return Ok(());
    };
    let schema = node.any(&[
        "input_schema",
        "parametersJsonSchema",
        "parameters_json_schema",
    ]);
    let schema = schema.map(|one| Tree::of(one.value));
    let schema = schema.or_else(|| Some(plain(Tree::of(node.get("parameters")?.value))));
    if let Some(schema) = &schema
        && !matches!(schema, Tree::Object(_))
    {
        return Err(node.wrong("a schema as an object"));
    }
    tools.push(Tool {
        name,
        description: node.text_of("description"),
        schema,
    });
    Ok(())
}

/// Google's dialect of schemas in the words of JSON Schema. What is written so already stays.
fn plain(schema: Tree) -> Tree {
    let Tree::Object(members) = schema else {
        return schema;
    };
    let mut out = Vec::with_capacity(members.len());
    let mut is_nullable = false;
    for (name, value) in members {
        let known = SPELLED.iter().find(|(own, _)| *own == name);
        let name = known.map_or(name, |(_, name)| (*name).to_owned());
        let value = match (&*name, value) {
            (_, value) if value.is_null() => continue,
            ("propertyOrdering" | "property_ordering" | "example", _) => continue,
            ("nullable", value) => {
                is_nullable = value == Tree::flag(true);
                continue;
            }
            ("type", value) => match value.as_text() {
                Some(word) if word == "TYPE_UNSPECIFIED" => continue,
                Some(word) => Tree::text(&word.to_ascii_lowercase()),
                None => value,
            },
            ("properties" | "$defs", Tree::Object(all)) => Tree::Object(
                all.into_iter()
                    .map(|(name, one)| (name, plain(one)))
                    .collect(),
            ),
            ("items" | "additionalProperties", value) => plain(value),
            ("anyOf", Tree::List(all)) => Tree::List(all.into_iter().map(plain).collect()),
            // Whole numbers of 64 bits are texts in that interface.
            (name, value) if name.starts_with("min") || name.starts_with("max") => {
                match value.as_text().and_then(|text| text.parse::<i64>().ok()) {
                    Some(number) => Tree::Scalar(number.to_string()),
                    None => value,
                }
            }
            (_, value) => value,
        };
        out.push((name, value));
    }
    if is_nullable && let Some((_, kind)) = out.iter_mut().find(|(name, _)| name == "type") {
        *kind = Tree::List(vec![kind.clone(), Tree::text("null")]);
    }
    Tree::Object(out)
}

/// A closed schema must let the mark in that wrapped calls carry.
fn open(schema: Tree) -> Tree {
    let is_closed = schema.get("additionalProperties") == Some(&Tree::flag(false));
    let Tree::Object(mut members) = schema else {
        return schema;
    };
    if is_closed {
        if !members.iter().any(|(name, _)| name == "properties") {
            members.push(("properties".into(), Tree::object([])));
        }
        let properties = members.iter_mut().find(|(name, _)| name == "properties");
        if let Some((_, properties)) = properties {
            properties.push(MEMBER, Tree::object([]));
        }
    }
    Tree::Object(members)
}
