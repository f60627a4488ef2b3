//! Reader of the nodes in a GraphML file with their data `x` and `y`; all other contents are ignored.

use roxmltree::{Document, Node, ParsingOptions};

use super::place::{Place, coordinate};
use crate::document::shorten;

/// The nodes in the order of the file.
pub(super) fn nodes(text: &str) -> Result<Vec<Place>, String> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| format!("{}: not an XML document: {error}", error.pos().row))?;
    let keys = ["x", "y"].map(|axis| key(&document, axis));
    document.descendants().filter(|element| is(element, "node")).map(|node| place(&node, keys)).collect()
}

/// Identifier of the node key with this name; the name itself if the file declares no such key.
fn key<'a>(document: &'a Document<'_>, axis: &'a str) -> &'a str {
    let describes = |key: &Node<'_, '_>| {
        is(key, "key")
            && matches!(key.attribute("for"), None | Some("node" | "all"))
            && key.attribute("attr.name").is_some_and(|name| name.eq_ignore_ascii_case(axis))
    };
    document.descendants().find(describes).and_then(|key| key.attribute("id")).unwrap_or(axis)
}

fn place(node: &Node<'_, '_>, keys: [&str; 2]) -> Result<Place, String> {
    let id = node.attribute("id").unwrap_or_default();
    let (Some(x), Some(y)) = (data(node, keys[0])?, data(node, keys[1])?) else {
        let (line, id) = (line(node), shorten(id));
        return Err(format!("{line}: node {id:?} has no x and y, allowed: a data element for each of them"));
    };
    let name = (!id.is_empty()).then(|| id.to_owned());
    Ok(Place { name, position: [x, y] })
}

/// The coordinate in a node's data with this key.
fn data(node: &Node<'_, '_>, key: &str) -> Result<Option<f64>, String> {
    let Some(data) = node.children().find(|child| is(child, "data") && child.attribute("key") == Some(key))
    else {
        return Ok(None);
    };
    let text = data.text().filter(|text| !text.trim().is_empty());
    text.map(|text| coordinate(text, || line(&data))).transpose()
}

fn is(element: &Node<'_, '_>, name: &str) -> bool {
    element.tag_name().name() == name
}

/// Line at which an element begins. The computation takes time proportional to the file, so it is used for
/// errors only.
fn line(element: &Node<'_, '_>) -> usize {
    element.document().text_pos_at(element.range().start).row as usize
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
    fn errors_name_the_line() {
        let missing = "<graph>\n<node id=\"n\">\n<data key=\"x\">1</data></node></graph>";
        let message = "2: node \"n\" has no x and y, allowed: a data element for each of them";
        assert_eq!(nodes(missing).unwrap_err(), message);
        assert_eq!(
            nodes("<node id='n'/>").unwrap_err(),
            "1: node \"n\" has no x and y, allowed: a data element for each of them"
        );
        let bad = "<node id='n'>\n<data key='x'>far</data></node>";
        assert_eq!(nodes(bad).unwrap_err(), "2: found \"far\", allowed: a number from -1e7 to 1e7");
    }

    #[test]
    fn truncated_and_malformed_files_do_not_panic() {
        let text = "<graphml><node id=\"a\"><data key=\"x\">1</data><data key='y'>2</data></node></graphml>";
        for end in 0..text.len() {
            let _ = nodes(&text[..end]);
            let _ = nodes(&text[end..]);
            let _ = nodes(&format!("{}<\"{}", &text[..end], &text[end..]));
        }
        assert_eq!(nodes("<graph/>").unwrap(), []);
        let unclosed = nodes("<graph>\n<node>\n</graph>").unwrap_err();
        assert!(unclosed.starts_with("3: not an XML document: "), "{unclosed}");
    }
}
