//! Suggestions for misspelt words.

/// The known word that a misspelt one probably means. Case does not count.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed_edits = (word.len() / 3).min(3);
    let is_comparable = |candidate: &&str| candidate.len().abs_diff(word.len()) <= allowed_edits;
    let edits = |candidate: &'a str| {
        let edits = strsim::osa_distance(&word.to_lowercase(), &candidate.to_lowercase());
        (edits, candidate)
    };
    let near = known.into_iter().filter(is_comparable).map(edits);
    near.filter(|(edits, _)| *edits <= allowed_edits).min().map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelt_word() {
        let known = ["newreno", "tcp-2", "tcp-3", "11M", "2M"];
        let cases = [
            ("newrenoo", Some("newreno")),
            ("nwereno", Some("newreno")),
            ("NewReno", Some("newreno")),
            ("tcp2", Some("tcp-2")),
            ("2m", Some("2M")),
            ("3M", None),
            ("udp", None),
            ("", None),
        ];
        for (word, meant) in cases {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
        assert_eq!(nearest(&"newreno".repeat(1_000_000), known), None);
    }
}
