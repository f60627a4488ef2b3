//! Comma-separated positions, with or without a header.

use csv::{ReaderBuilder, StringRecord, Trim};

use super::place::{Place, coordinate};

/// `x,y` or `x,y,name` in each line; a header may order the columns otherwise. Empty lines and
/// lines that start with `#` are skipped.
pub(super) fn nodes(text: &str) -> Result<Vec<Place>, String> {
    let mut lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'))
        .peekable();
    let columns = match lines.peek() {
        Some((first, number)) if cells(first).iter().all(|cell| coordinate(cell, || *number).is_err()) => {
            let columns = Columns::from_header(&cells(first)).ok_or_else(|| {
                format!("{number}: found a header without x and y, allowed: columns x, y and name")
            })?;
            lines.next();
            columns
        }
        _ => Columns { x: 0, y: 1, name: Some(2) },
    };
    lines.map(|(line, number)| columns.place(&cells(line), number)).collect()
}

struct Columns {
    x: usize,
    y: usize,
    name: Option<usize>,
}

impl Columns {
    fn from_header(cells: &StringRecord) -> Option<Self> {
        let find = |wanted: &[&str]| {
            cells.iter().position(|cell| wanted.iter().any(|name| cell.eq_ignore_ascii_case(name)))
        };
        Some(Self { x: find(&["x"])?, y: find(&["y"])?, name: find(&["name", "id", "node"]) })
    }

    fn place(&self, cells: &StringRecord, number: usize) -> Result<Place, String> {
        let cell = |column: usize| cells.get(column).unwrap_or_default();
        let read = |column: usize| coordinate(cell(column), || number);
        let name = self.name.map(cell).filter(|name| !name.is_empty()).map(str::to_owned);
        Ok(Place { name, position: [read(self.x)?, read(self.y)?] })
    }
}

/// Line by line, because numbers of lines are for messages, and positions need no cell of several lines.
fn cells(line: &str) -> StringRecord {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .trim(Trim::All)
        .buffer_capacity(line.len())
        .from_reader(line.as_bytes());
    reader.records().next().and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(text: &str) -> Vec<[f64; 2]> {
        nodes(text).unwrap().iter().map(|node| node.position).collect()
    }

    #[test]
    fn a_header_orders_the_columns() {
        assert_eq!(positions("0,0\n200,10.5\n"), [[0.0, 0.0], [200.0, 10.5]]);
        let named = nodes("# survey\r\nName,Y,X\r\n\r\n\"a\",1,2\r\nb,3,4\r\n").unwrap();
        assert_eq!(named[0], Place { name: Some("a".to_owned()), position: [2.0, 1.0] });
        assert_eq!(named[1], Place { name: Some("b".to_owned()), position: [4.0, 3.0] });
        let quoted = nodes("x,y,name\n5,6,\"north, \"\"old\"\" tower\"\n").unwrap();
        assert_eq!(quoted[0], Place { name: Some("north, \"old\" tower".to_owned()), position: [5.0, 6.0] });
    }

    #[test]
    fn what_is_wrong_names_its_line() {
        let error = |text| nodes(text).unwrap_err();
        assert_eq!(error("0,0\n1,NaN\n"), "2: found \"NaN\", allowed: a number from -1e7 to 1e7");
        assert_eq!(error("0,0\n\n5\n"), "3: found \"\", allowed: a number from -1e7 to 1e7");
        assert_eq!(error("0,1e9\n"), "1: found \"1e9\", allowed: a number from -1e7 to 1e7");
        let header = "1: found a header without x and y, allowed: columns x, y and name";
        assert_eq!(error("lat,lon\n1,2\n"), header);
        assert_eq!(nodes("").unwrap(), []);
    }
}
