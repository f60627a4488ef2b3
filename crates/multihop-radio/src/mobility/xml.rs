//! Reader of XML in pieces: memory does not grow with the file, and no entity is expanded.

use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::QName;

use super::text::{LONGEST_FILE, Problem};

/// Reads an XML document piece by piece.
pub(super) struct Pieces<'a> {
    text: &'a str,
    reader: quick_xml::Reader<&'a [u8]>,
}

/// Part of an XML document: the subset that readers of movements need.
pub(super) enum Piece<'a> {
    Begins(Element<'a>),
    Ends(String),
    Text(String),
}

/// Start tag of an element.
pub(super) struct Element<'a>(BytesStart<'a>);

impl<'a> Pieces<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, Problem> {
        if text.len() > LONGEST_FILE {
            let message = format!("found {} bytes, allowed: up to {LONGEST_FILE}", text.len());
            return Err(Problem { line: 1, message });
        }
        let mut reader = quick_xml::Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Ok(Self { text, reader })
    }

    /// The next piece; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Piece<'a>>, Problem> {
        loop {
            let event = self.reader.read_event();
            let event = event.map_err(|error| self.problem(format!("not an XML document: {error}")))?;
            return Ok(Some(match event {
                Event::Start(start) => Piece::Begins(Element(start)),
                Event::End(end) => Piece::Ends(local(end.name())),
                Event::Text(text) => Piece::Text(text.to_string()),
                Event::Eof => return Ok(None),
                _ => continue,
            }));
        }
    }

    /// Creates an error at the position of the last piece.
    pub(super) fn problem(&self, message: String) -> Problem {
        let end = usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX);
        let read = self.text.as_bytes().get(..end).unwrap_or(self.text.as_bytes());
        Problem { line: 1 + read.iter().filter(|&&byte| byte == b'\n').count(), message }
    }
}

impl Element<'_> {
    /// Name of the element, without the prefix of a namespace.
    pub(super) fn name(&self) -> String {
        local(self.0.name())
    }

    /// The value of an attribute, without expansion of entities.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        // The search for repeated attributes would take quadratic time.
        let mut attributes = self.0.attributes();
        let found = attributes
            .with_checks(false)
            .flatten()
            .find(|Attribute { key, .. }| key.local_name().as_ref() == name)?;
        Some(found.value.into_owned())
    }

    /// Value of the attribute `name`, or a message that the element lacks it.
    pub(super) fn required(&self, name: &str) -> Result<String, String> {
        self.attribute(name).ok_or_else(|| format!("{:?} is missing {name:?}", self.name()))
    }
}

fn local(name: QName<'_>) -> String {
    name.local_name().as_ref().to_owned()
}
