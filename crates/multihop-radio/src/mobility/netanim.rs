//! Animations for NetAnim, ns-3's viewer: XML with positions over time.

use std::io;

use multihop_core::{Duration, Instant};

use super::movement::Track;
use super::text::seconds;

/// Writes the positions of the nodes at the start and every `every` until `until`, leaving out nodes that have not
/// moved.
pub fn write(
    tracks: &mut [Track],
    every: Duration,
    until: Instant,
    out: &mut impl io::Write,
) -> io::Result<()> {
    assert!(every > Duration::ZERO, "an animation needs time between its frames");
    writeln!(out, "<anim ver=\"{VERSION}\" filetype=\"animation\">")?;
    let mut now = Instant::ZERO;
    let mut places: Vec<_> = tracks.iter_mut().map(|track| track.at(now)).collect();
    for (id, place) in places.iter().enumerate() {
        writeln!(out, "<node id=\"{id}\" sysId=\"0\" locX=\"{}\" locY=\"{}\"/>", place.x, place.y)?;
    }
    while now < until {
        now = (now + every).min(until);
        for (id, (track, place)) in tracks.iter_mut().zip(&mut places).enumerate() {
            let moved = track.at(now);
            if moved != *place {
                *place = moved;
                let at = seconds(now);
                writeln!(out, "<nu p=\"p\" t=\"{at}\" id=\"{id}\" x=\"{}\" y=\"{}\"/>", moved.x, moved.y)?;
            }
        }
    }
    writeln!(out, "</anim>")
}

/// Version of the format, readable by NetAnim 3.108 and later.
const VERSION: &str = "netanim-3.108";

#[cfg(test)]
mod tests {
    use super::super::{Movement, Path, Waypoint};
    use super::*;
    use crate::grid::Point;

    #[test]
    fn positions_are_written_when_they_change() {
        let at = |secs| Instant::ZERO + Duration::from_secs(secs);
        let path =
            [(0, 0.0), (2, 20.0)].map(|(secs, x)| Waypoint { at: at(secs), place: Point { x, y: 1.5 } });
        let moving = Track::new(Movement::along(Path::new(&path).unwrap()));
        let still = Track::new(Movement::Still(Point { x: 7.0, y: 8.0 }));
        let mut out = Vec::new();
        write(&mut [still, moving], Duration::from_millis(1500), at(10), &mut out).unwrap();
        let expected = "<anim ver=\"netanim-3.108\" filetype=\"animation\">\n\
            <node id=\"0\" sysId=\"0\" locX=\"7\" locY=\"8\"/>\n\
            <node id=\"1\" sysId=\"0\" locX=\"0\" locY=\"1.5\"/>\n\
            <nu p=\"p\" t=\"1.500000000\" id=\"1\" x=\"15\" y=\"1.5\"/>\n\
            <nu p=\"p\" t=\"3.000000000\" id=\"1\" x=\"20\" y=\"1.5\"/>\n\
            </anim>\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
