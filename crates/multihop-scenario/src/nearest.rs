//! Suggestions for misspelt words.

/// The known word that a misspelt, shortened or extended word probably means. Upper and lower case are equal.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let word = word.to_lowercase();
    let known: Vec<_> = known.into_iter().map(|candidate| (candidate.to_lowercase(), candidate)).collect();
    shortened(&word, &known).or_else(|| misspelt(&word, &known)).or_else(|| extended(&word, &known))
}

type Known<'a> = (String, &'a str);

/// The word with the fewest edits.
fn misspelt<'a>(word: &str, known: &[Known<'a>]) -> Option<&'a str> {
    let allowed_edits = (word.len() / 3).min(3);
    let is_comparable = |(candidate, _): &&Known<'a>| candidate.len().abs_diff(word.len()) <= allowed_edits;
    let edits = |(lower, candidate): &Known<'a>| (strsim::osa_distance(word, lower), *candidate);
    let near = known.iter().filter(is_comparable).map(edits);
    near.filter(|(edits, _)| *edits <= allowed_edits).min().map(|(_, candidate)| candidate)
}

/// The shortest known word that begins with `word`.
fn shortened<'a>(word: &str, known: &[Known<'a>]) -> Option<&'a str> {
    let longer =
        known.iter().filter(|(candidate, _)| word.len() >= SHORTEST_PART && candidate.starts_with(word));
    longer.min_by_key(|(candidate, _)| candidate.len()).map(|(_, candidate)| *candidate)
}

/// The longest known word that is a part of `word`.
fn extended<'a>(word: &str, known: &[Known<'a>]) -> Option<&'a str> {
    let parts =
        known.iter().filter(|(candidate, _)| candidate.len() >= SHORTEST_PART && word.contains(&**candidate));
    parts.max_by_key(|(candidate, _)| candidate.len()).map(|(_, candidate)| *candidate)
}

/// Smallest number of common letters if one word is a part of the other.
const SHORTEST_PART: usize = 3;
/// Longest word that is compared with others.
const LONGEST: usize = 100;

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelt_word() {
        let known = ["newreno", "tcp-2", "tcp-3", "11M", "2M", "802.11a", "802.11n-20"];
        let cases = [
            ("newrenoo", Some("newreno")),
            ("nwereno", Some("newreno")),
            ("NewReno", Some("newreno")),
            ("tcp2", Some("tcp-2")),
            ("2m", Some("2M")),
            ("3M", None),
            ("udp", None),
            ("", None),
            ("new", Some("newreno")),
            ("tcp-newreno", Some("newreno")),
            ("tcp", Some("tcp-2")),
            ("11", None),
            ("802.11n", Some("802.11n-20")),
        ];
        for (word, meant) in cases {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
        assert_eq!(nearest(&"newreno".repeat(1_000_000), known), None);
    }
}
