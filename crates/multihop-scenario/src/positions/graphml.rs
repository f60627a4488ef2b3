//! The nodes of a GraphML file and their data `x` and `y`; everything else is passed over.

use super::super::document::shorten;
use super::{Place, bad_coordinate, coordinate};

/// The nodes in the order of the file.
pub(super) fn nodes(text: &str) -> Result<Vec<Place>, String> {
    let mut reader = Reader::default();
    for piece in Pieces::of(text) {
        reader.piece(piece)?;
    }
    reader.finish()
}

/// What has been read so far.
#[derive(Default)]
struct Reader<'a> {
    /// Ids of the keys whose name is `x`, `y`.
    keys: [Option<&'a str>; 2],
    node: Option<OpenNode<'a>>,
    /// Which coordinate the text within `<data>` is.
    data: Option<usize>,
    nodes: Vec<Place>,
}

struct OpenNode<'a> {
    id: &'a str,
    line: usize,
    coordinates: [Option<f64>; 2],
}

impl<'a> Reader<'a> {
    fn piece(&mut self, piece: Piece<'a>) -> Result<(), String> {
        match piece.kind {
            Kind::Tag(tag) => self.tag(tag, piece.line),
            Kind::Text(text) => match (self.data, &mut self.node) {
                (Some(axis), Some(node)) if !text.trim().is_empty() => {
                    let metres = coordinate(text).ok_or_else(|| bad_coordinate(piece.line, text))?;
                    node.coordinates[axis] = Some(metres);
                    Ok(())
                }
                _ => Ok(()),
            },
        }
    }

    fn tag(&mut self, tag: &'a str, line: usize) -> Result<(), String> {
        let name_end = tag.find(|c: char| c.is_whitespace()).unwrap_or(tag.len());
        let (name, attributes) = tag.split_at(name_end);
        let name = name.trim_end_matches('/');
        match name.rsplit(':').next().unwrap_or(name) {
            "key" => self.key(attributes),
            "node" => {
                self.close_node()?;
                let id = attribute(attributes, "id").unwrap_or_default();
                self.node = Some(OpenNode { id, line, coordinates: [None; 2] });
                if tag.ends_with('/') {
                    self.close_node()?;
                }
            }
            "/node" | "/graph" => self.close_node()?,
            "data" => {
                let key = attribute(attributes, "key").unwrap_or_default();
                self.data = (0..2).find(|&axis| self.keys[axis].unwrap_or(["x", "y"][axis]) == key);
            }
            "/data" => self.data = None,
            _ => {}
        }
        Ok(())
    }

    fn key(&mut self, attributes: &'a str) {
        if matches!(attribute(attributes, "for"), None | Some("node" | "all")) {
            let name = attribute(attributes, "attr.name").unwrap_or_default();
            if let Some(axis) = ["x", "y"].iter().position(|axis| name.eq_ignore_ascii_case(axis)) {
                self.keys[axis] = attribute(attributes, "id");
            }
        }
    }

    fn close_node(&mut self) -> Result<(), String> {
        self.data = None;
        let Some(node) = self.node.take() else { return Ok(()) };
        let [Some(x), Some(y)] = node.coordinates else {
            let id = shorten(node.id);
            return Err(format!("{}: node {id:?} has no x and y, allowed: data with both", node.line));
        };
        let name = Some(unescape(node.id)).filter(|name| !name.is_empty());
        self.nodes.push(Place { name, position: [x, y] });
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Place>, String> {
        self.close_node()?;
        Ok(self.nodes)
    }
}

/// A tag without its angle brackets, or the text between two tags.
struct Piece<'a> {
    kind: Kind<'a>,
    line: usize,
}

enum Kind<'a> {
    Tag(&'a str),
    Text(&'a str),
}

/// Cuts a text into tags and what lies between; an unfinished tag is text.
struct Pieces<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Pieces<'a> {
    fn of(text: &'a str) -> Self {
        Self { rest: text, line: 1 }
    }

    fn advance(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            let line = self.line;
            if self.rest.is_empty() {
                return None;
            }
            if self.rest.starts_with("<!--") {
                let length = self.rest.find("-->").map_or(self.rest.len(), |end| end + 3);
                self.advance(length);
            } else if self.rest.starts_with('<') {
                let length = tag_length(self.rest);
                let tag = self.advance(length);
                let tag = tag.strip_prefix('<').unwrap_or(tag);
                return Some(Piece { kind: Kind::Tag(tag.strip_suffix('>').unwrap_or(tag)), line });
            } else {
                let length = self.rest.find('<').unwrap_or(self.rest.len());
                return Some(Piece { kind: Kind::Text(self.advance(length)), line });
            }
        }
    }
}

/// Up to the first `>` that is not inside quotes.
fn tag_length(text: &str) -> usize {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return at + 1,
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    text.len()
}

/// The value of an attribute, still escaped.
fn attribute<'a>(attributes: &'a str, wanted: &str) -> Option<&'a str> {
    let mut rest = attributes;
    while let Some((name, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, following) = after[1..].split_once(quote)?;
        if name.trim() == wanted {
            return Some(value);
        }
        rest = following;
    }
    None
}

fn unescape(text: &str) -> String {
    let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    plain.iter().fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_with_keys_by_id_or_by_name() {
        let text = r#"<?xml version="1.0"?>
<!-- two > nodes -->
<graphml><key id="d1" for="node" attr.name="y"/><key id='d0' for="node" attr.name="x" />
<key id="d9" for="edge" attr.name="x"/>
<graph edgedefault="undirected">
  <node id="a&amp;b"><data key="d0"> 1.5 </data><data key="d1">2</data><data key="d7">x</data></node>
  <node id="c"><data key="d1">4</data><data key="d0">3</data></node>
  <edge source="a" target="c"><data key="d9">oops</data></edge>
</graph></graphml>"#;
        let expected = [("a&b", [1.5, 2.0]), ("c", [3.0, 4.0])]
            .map(|(name, position)| Place { name: Some(name.to_owned()), position });
        assert_eq!(nodes(text).unwrap(), expected);
        let plain = r#"<graph><node id="n"><data key="x">1</data><data key="y">2</data></node></graph>"#;
        assert_eq!(nodes(plain).unwrap(), [Place { name: Some("n".to_owned()), position: [1.0, 2.0] }]);
    }

    #[test]
    fn what_is_wrong_names_its_line() {
        let missing = "<graph>\n<node id=\"n\">\n<data key=\"x\">1</data></node>";
        let message = "2: node \"n\" has no x and y, allowed: data with both";
        assert_eq!(nodes(missing).unwrap_err(), message);
        assert_eq!(
            nodes("<node id='n'/>").unwrap_err(),
            "1: node \"n\" has no x and y, allowed: data with both"
        );
        let bad = "<node id='n'>\n<data key='x'>far</data>";
        assert_eq!(nodes(bad).unwrap_err(), "2: found \"far\", allowed: a number from -1e7 to 1e7");
    }

    #[test]
    fn garbage_is_no_network_and_no_panic() {
        let text = "<graphml><node id=\"a\"><data key=\"x\">1</data><data key='y'>2</data></node></graphml>";
        for end in 0..text.len() {
            let _ = nodes(&text[..end]);
            let _ = nodes(&text[end..]);
            let _ = nodes(&format!("{}<\"{}", &text[..end], &text[end..]));
        }
        assert_eq!(nodes("<<<>>>&&&=\"='").unwrap(), []);
    }
}
