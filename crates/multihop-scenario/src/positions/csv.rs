//! Reader of positions as comma-separated values, with or without a header.

use csv::{ReaderBuilder, StringRecord, Trim};
use multihop_radio::mobility::Plane;

use super::place::{Place, coordinate};

/// Positions in the lines `x,y` or `x,y,name`. A header may give another order of columns, or name latitude
/// and longitude, which need a plane. Empty lines and lines that start with # are skipped.
pub(super) fn nodes(text: &str, plane: Option<&Plane>) -> Result<Vec<Place>, String> {
    let mut lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'))
        .peekable();
    let columns = match lines.peek() {
        Some((first, number)) if cells(first).iter().all(|cell| coordinate(cell, || *number).is_err()) => {
            let columns = Columns::from_header(&cells(first)).ok_or_else(|| {
                format!("{number}: found a header without x and y, allowed: columns x, y and name, or lat, lon and name")
            })?;
            lines.next();
            columns
        }
        _ => Columns { x: 0, y: 1, name: Some(2), is_degrees: false },
    };
    if columns.is_degrees && plane.is_none() {
        return Err("1: found latitude and longitude, which need the key origin: the latitude and longitude of (0, 0)".to_owned());
    }
    let plane = plane.filter(|_| columns.is_degrees);
    lines.map(|(line, number)| columns.place(&cells(line), number, plane)).collect()
}

struct Columns {
    x: usize,
    y: usize,
    name: Option<usize>,
    /// Whether x is the longitude and y the latitude.
    is_degrees: bool,
}

impl Columns {
    fn from_header(cells: &StringRecord) -> Option<Self> {
        let find = |wanted: &[&str]| {
            cells.iter().position(|cell| wanted.iter().any(|name| cell.eq_ignore_ascii_case(name)))
        };
        let name = find(&["name", "id", "node"]);
        let degrees = find(&["lon", "longitude"]).zip(find(&["lat", "latitude"]));
        if let Some((x, y)) = degrees {
            return Some(Self { x, y, name, is_degrees: true });
        }
        Some(Self { x: find(&["x"])?, y: find(&["y"])?, name, is_degrees: false })
    }

    fn place(&self, cells: &StringRecord, number: usize, plane: Option<&Plane>) -> Result<Place, String> {
        let cell = |column: usize| cells.get(column).unwrap_or_default();
        let read = |column: usize| coordinate(cell(column), || number);
        let name = self.name.map(cell).filter(|name| !name.is_empty()).map(str::to_owned);
        let (x, y) = (read(self.x)?, read(self.y)?);
        let position = match plane {
            None => [x, y],
            Some(plane) => {
                let place = plane.point(y, x).map_err(|message| format!("{number}: {message}"))?;
                [place.x, place.y]
            }
        };
        Ok(Place { name, position })
    }
}

/// Cells of one line. Files are read line by line, because messages contain line numbers, and no cell of a
/// position has several lines.
pub(crate) fn cells(line: &str) -> StringRecord {
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
        nodes(text, None).unwrap().iter().map(|node| node.position).collect()
    }

    #[test]
    fn a_header_orders_the_columns() {
        assert_eq!(positions("0,0\n200,10.5\n"), [[0.0, 0.0], [200.0, 10.5]]);
        let named = nodes("# survey\r\nName,Y,X\r\n\r\n\"a\",1,2\r\nb,3,4\r\n", None).unwrap();
        assert_eq!(named[0], Place { name: Some("a".to_owned()), position: [2.0, 1.0] });
        assert_eq!(named[1], Place { name: Some("b".to_owned()), position: [4.0, 3.0] });
        let quoted = nodes("x,y,name\n5,6,\"north, \"\"old\"\" tower\"\n", None).unwrap();
        assert_eq!(quoted[0], Place { name: Some("north, \"old\" tower".to_owned()), position: [5.0, 6.0] });
    }

    #[test]
    fn what_is_wrong_names_its_line() {
        let error = |text| nodes(text, None).unwrap_err();
        assert_eq!(error("0,0\n1,NaN\n"), "2: found \"NaN\", allowed: a number from -1e7 to 1e7");
        assert_eq!(error("0,0\n\n5\n"), "3: found \"\", allowed: a number from -1e7 to 1e7");
        assert_eq!(error("0,1e9\n"), "1: found \"1e9\", allowed: a number from -1e7 to 1e7");
        let header =
            "1: found a header without x and y, allowed: columns x, y and name, or lat, lon and name";
        assert_eq!(error("a,b\n1,2\n"), header);
        assert_eq!(nodes("", None).unwrap(), []);
        let degrees = "lat,lon\n48,11.001\n";
        let needs = "1: found latitude and longitude, which need the key origin: the latitude and longitude of (0, 0)";
        assert_eq!(error(degrees), needs);
        let place = nodes(degrees, Some(&Plane::new(48.0, 11.0))).unwrap()[0].position;
        assert!((place[0] - 74.6).abs() < 0.1 && place[1].abs() < 0.1, "{place:?}");
        let far = nodes("lat,lon\n58,11\n", Some(&Plane::new(48.0, 11.0))).unwrap_err();
        assert_eq!(far, "2: found 58, 11, 1111 km from the origin, allowed: up to 100 km");
    }
}
