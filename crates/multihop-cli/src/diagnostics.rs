//! Display of a scenario's problems, with the lines that contain them.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use multihop_scenario::{Place, Position, Problem, Problems};

/// Prints every problem on standard error: place and message, then the line of the scenario.
pub(crate) fn print(problems: &Problems) {
    anstream::eprintln!("{}", shown(problems, &Renderer::styled()));
}

fn shown(problems: &Problems, renderer: &Renderer) -> String {
    let mut parts: Vec<String> = Vec::new();
    for problem in problems.list() {
        let before = parts.last().is_some_and(|part| part.contains('\n'));
        let quoted = quotation(problem, problems.text(), renderer);
        parts.extend(before.then(String::new));
        parts.push(match quoted {
            Some(lines) => format!("{}\n{lines}", Problem { suggestion: None, ..problem.clone() }),
            None => problem.to_string(),
        });
    }
    if problems.unlisted() > 0 {
        parts.push(format!("and {} more", problems.unlisted()));
    }
    parts.join("\n")
}

/// The line with the problem, and a mark below it.
fn quotation(problem: &Problem, text: &str, renderer: &Renderer) -> Option<String> {
    let Place::Text { at: Some(at), .. } = &problem.place else { return None };
    if at.span == (0..0) && !problem.key.is_empty() {
        return None; // the document lacks a key
    }
    let (line, span) = line_of(at, text)?;
    let mark = AnnotationKind::Primary.span(span);
    let hint = problem.suggestion.as_ref().map(|word| format!("did you mean {word:?}?"));
    let mark = if let Some(hint) = &hint { mark.label(hint.as_str()) } else { mark };
    let snippet = Snippet::source(line).line_start(at.line).annotation(mark);
    Some(renderer.render(&[Group::with_level(Level::ERROR).element(snippet)]))
}

/// Extracts the line in which a span begins, and the columns of the span within it. A long line is shortened to the
/// span and the text around it.
fn line_of<'a>(at: &Position, text: &'a str) -> Option<(&'a str, core::ops::Range<usize>)> {
    let start = text.floor_char_boundary(at.span.start);
    let (before, after) = text.split_at(start);
    let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
    let end = start + after.find('\n').unwrap_or(after.len());
    let line = text.get(begin..end)?.trim_end();
    let begin_of_span = (start - begin).min(line.len());
    let end_of_span = line.floor_char_boundary(at.span.end.saturating_sub(begin)).max(begin_of_span);
    (line.len() <= LONGEST_LINE).then_some((line, begin_of_span..end_of_span))
}

/// Longest line that is quoted, bytes.
const LONGEST_LINE: usize = 10_000;

#[cfg(test)]
mod tests {
    use multihop_scenario::{Scenario, Source};

    use super::*;

    fn shown_of(text: &str, overrides: &[(&str, &str)]) -> String {
        let source = Source::from_reader(text.as_bytes(), "a.toml").unwrap();
        let overrides: Vec<_> =
            overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        shown(&Scenario::load(&source, &overrides).unwrap_err(), &Renderer::plain())
    }

    #[test]
    fn each_problem_is_shown_in_its_line() {
        let text = "\
duration = 2.0\r
[topology]
kind = \"chain\"
hops = \"one\" # ähm
[[flow]]
\ttransport = \"newrenoo\"
";
        let expected = "\
a.toml:4:8: topology.hops: found \"one\", allowed: a whole number from 1 to 99999
  |
4 | hops = \"one\" # ähm
  |        ^^^^^

a.toml:6:14: flow.0.transport: found \"newrenoo\", allowed: ";
        let shown = shown_of(text, &[]);
        assert!(shown.starts_with(expected), "{shown}");
        let mark =
            "\n6 |     transport = \"newrenoo\"\n  |                 ^^^^^^^^^^ did you mean \"newreno\"?";
        assert!(shown.ends_with(mark), "{shown}");
    }

    #[test]
    fn problems_without_a_line() {
        assert_eq!(
            shown_of("name = \"x\"", &[("topology.kind", "chain"), ("topology.hops", "1")]),
            "a.toml:1:1: duration: is missing"
        );
        let lines =
            shown_of("duration = 1\ntopology = { kind = \"chain\", hops = 1 }", &[("mac.arp", "orcale")]);
        assert_eq!(
            lines,
            "override mac.arp=orcale: mac.arp: found \"orcale\", allowed: \"ns2\", \"queueing\", \"oracle\", did you mean \"oracle\"?"
        );
    }

    #[test]
    fn strange_texts() {
        for text in [
            "",
            "{",
            "[topology",
            "é = ",
            "name = \"\"\"\nä",
            "a = [\n1,\n2\n]",
            "{\"é\": 1,}",
            "\u{1b}[31m = 1",
        ] {
            let shown = shown_of(text, &[]);
            assert!(shown.starts_with("a.toml:"), "{shown}");
            assert!(!shown.contains('\u{1b}'), "{shown}");
        }
        let long = format!("duration = [{}]", "0, ".repeat(100_000));
        assert!(shown_of(&long, &[]).len() < 1000);
    }
}
