//! The field name that somebody most likely meant.

use super::Field;

/// The nearest field name within two edits.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    // A name far longer than any field has no near one; comparing it would only cost time.
    if name.len() > 24 {
        return None;
    }
    let ranked = Field::ALL
        .into_iter()
        .map(|field| (distance(&name, field.as_str()), field.as_str()));
    ranked
        .filter(|(edits, _)| *edits <= 2)
        .min()
        .map(|(_, field)| field)
}

/// How many bytes must be added, dropped or replaced.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut left = i + 1;
        let mut next = Vec::with_capacity(row.len());
        next.push(left);
        for (b, pair) in to.bytes().zip(row.windows(2)) {
            let [above_left, above] = pair else { continue };
            left = (above_left + usize::from(a != b))
                .min(above + 1)
                .min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn slips_of_the_hand_find_their_field() {
        for (typed, meant) in [
            ("tpye", "type"),
            ("Target", "target"),
            ("topics", "topic"),
            ("sorce", "source"),
        ] {
            assert_eq!(nearest(typed), Some(meant), "{typed}");
        }
        assert_eq!(nearest("payload"), None);
        assert_eq!(nearest(&"x".repeat(10_000)), None);
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(
            (
                distance("", "abc"),
                distance("abc", "abc"),
                distance("abc", "axcd")
            ),
            (3, 0, 2)
        );
    }
}
