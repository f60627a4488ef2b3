//! Movements from GPX files of satellite navigation receivers: one node for each track.

use core::ops::RangeInclusive;

use multihop_core::Instant;

use super::path::{Path, Waypoint};
use super::plane::Plane;
use super::text::{LATEST, MAX_NODES, Problem, number, shorten};
use super::xml::{Element, Piece, Pieces};
use crate::grid::Point;

/// Reads the path of each track. Time 0 is the time of the earliest point of all tracks.
///
/// A node waits at the first point of its track, moves in straight lines between points, gaps included, and
/// stays at the last point.
pub fn read(text: &str, plane: &Plane) -> Result<Vec<Path>, Problem> {
    let mut pieces = Pieces::new(text)?;
    let mut reader = Reader { plane, tracks: Vec::new(), point: None, is_time: false };
    while let Some(piece) = pieces.next()? {
        let read = match piece {
            Piece::Begins(element) => reader.begins(&element),
            Piece::Text(text) => reader.text(&text),
            Piece::Ends(name) => reader.ends(&name),
        };
        read.map_err(|message| pieces.problem(message))?;
    }
    paths(&reader.tracks)
}

/// State of the GPX reader: finished tracks, and the point that is being read.
struct Reader<'a> {
    plane: &'a Plane,
    /// Points of each track, with their time in nanoseconds since 1970.
    tracks: Vec<Vec<(i128, Point)>>,
    /// The point being read, with its time.
    point: Option<(Point, Option<i128>)>,
    is_time: bool,
}

impl Reader<'_> {
    fn begins(&mut self, element: &Element<'_>) -> Result<(), String> {
        match element.name().as_str() {
            "trk" if self.tracks.len() == MAX_NODES => {
                return Err(format!("found more than {MAX_NODES} tracks, allowed: up to {MAX_NODES}"));
            }
            "trk" => self.tracks.push(Vec::new()),
            "trkpt" => {
                let degrees = |name, most: f64| number(&element.required(name)?, -most, most);
                self.point = Some((self.plane.point(degrees("lat", 90.0)?, degrees("lon", 180.0)?)?, None));
            }
            "time" => self.is_time = self.point.is_some(),
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), String> {
        if self.is_time
            && let Some((_, time)) = &mut self.point
        {
            let found = nanos(text.trim());
            let allowed = "a time such as 2024-05-31T12:00:00Z";
            *time = Some(found.ok_or_else(|| format!("found {:?}, allowed: {allowed}", shorten(text)))?);
        }
        Ok(())
    }

    fn ends(&mut self, name: &str) -> Result<(), String> {
        if name == "time" {
            self.is_time = false;
        }
        if name != "trkpt" {
            return Ok(());
        }
        let Some((place, time)) = self.point.take() else { return Ok(()) };
        let at = time.ok_or("found a point without a time, allowed: points with times")?;
        let track = self
            .tracks
            .last_mut()
            .ok_or("found a point outside of a track, allowed: points inside of tracks")?;
        match track.last() {
            // Receivers that sample more than once a second round times to seconds.
            Some((last, _)) if *last == at => Ok(()),
            Some((last, _)) if *last > at => Err("found a time before that of the last point".to_owned()),
            _ => {
                track.push((at, place));
                Ok(())
            }
        }
    }
}

fn paths(tracks: &[Vec<(i128, Point)>]) -> Result<Vec<Path>, Problem> {
    let problem = |message: String| Problem { line: 1, message };
    let first = tracks.iter().filter_map(|track| Some(track.first()?.0)).min();
    let Some(first) = first else {
        return Err(problem("found no track with points, allowed: one for each node".to_owned()));
    };
    let tracks = tracks.iter().zip(1..).filter(|(track, _)| !track.is_empty());
    tracks
        .map(|(track, number)| {
            path(track, first).map_err(|message| problem(format!("track {number}: {message}")))
        })
        .collect()
}

fn path(track: &[(i128, Point)], first: i128) -> Result<Path, String> {
    let waypoint = |&(at, place): &(i128, Point)| {
        let nanos = u64::try_from(at - first).ok().filter(|nanos| *nanos as f64 <= LATEST * 1e9);
        let at = nanos
            .ok_or_else(|| format!("allowed: up to {LATEST:e} s after the earliest point of the file"))?;
        Ok(Waypoint { at: Instant::from_nanos(at), place })
    };
    let waypoints = track.iter().map(waypoint).collect::<Result<Vec<_>, String>>()?;
    Path::new(&waypoints).map_err(|bad| bad.to_string())
}

/// Parses a time of RFC 3339 into nanoseconds since 1970.
fn nanos(text: &str) -> Option<i128> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let [year, month, day] = fields(date, '-')?;
    let (year, month, day) = (whole(year, 0..=9999)?, whole(month, 1..=12)?, whole(day, 1..=31)?);
    let zone_at = time.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = time.split_at(zone_at);
    let [hour, minute, second] = fields(time, ':')?;
    let (second, fraction) = second.split_once('.').unwrap_or((second, ""));
    let of_day = 3600 * whole(hour, 0..=23)? + 60 * whole(minute, 0..=59)? + whole(second, 0..=60)?;
    let seconds = 86_400 * days(year, month, day) + of_day - offset(zone)?;
    Some(i128::from(seconds) * 1_000_000_000 + i128::from(fraction_nanos(fraction)?))
}

/// Offset of a time zone from UTC in seconds, positive to the east.
fn offset(zone: &str) -> Option<i64> {
    let (sign, clock) = match zone.as_bytes().first()? {
        b'+' => (1, &zone[1..]),
        b'-' => (-1, &zone[1..]),
        _ => return (zone.len() == 1).then_some(0),
    };
    let (hour, minute) = clock.split_once(':')?;
    Some(sign * (3600 * whole(hour, 0..=23)? + 60 * whole(minute, 0..=59)?))
}

/// Parses the digits after the decimal point; digits beyond nanoseconds are cut off.
fn fraction_nanos(digits: &str) -> Option<u32> {
    let is_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    let nine: String = digits.chars().chain("000000000".chars()).take(9).collect();
    if is_digits { nine.parse().ok() } else { None }
}

/// Days since 1970-01-01 in the Gregorian calendar. Years are counted from March, so that February is last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before_year = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let before_month = (153 * month + 2) / 5;
    before_year + before_month + day - 1 - BEFORE_1970
}

/// Number of days from 1 March of year 0 to 1970-01-01.
const BEFORE_1970: i64 = 719_468;

fn fields(text: &str, separator: char) -> Option<[&str; 3]> {
    let mut parts = text.splitn(3, separator);
    Some([parts.next()?, parts.next()?, parts.next()?])
}

fn whole(digits: &str, range: RangeInclusive<i64>) -> Option<i64> {
    let is_short = digits.bytes().all(|byte| byte.is_ascii_digit()) && (1..=4).contains(&digits.len());
    digits.parse().ok().filter(|n| is_short && range.contains(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLANE: (f64, f64) = (48.0, 11.0);

    fn read(text: &str) -> Result<Vec<Path>, Problem> {
        super::read(text, &Plane::new(PLANE.0, PLANE.1))
    }

    fn refused(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    const WALK: &str = r#"<?xml version="1.0"?>
<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1">
 <metadata><time>2019-01-01T00:00:00Z</time></metadata>
 <wpt lat="0" lon="0"><time>2018-01-01T00:00:00Z</time></wpt>
 <trk><name>Ann</name><trkseg>
  <trkpt lat="48.0" lon="11.0"><ele>520</ele><time>2024-02-29T23:59:50Z</time></trkpt>
  <trkpt lat="48.0" lon="11.001"><time>2024-03-01T00:00:40.5Z</time></trkpt>
  <trkpt lat="48.0" lon="11.002"><time>2024-03-01T00:00:40.5Z</time></trkpt>
 </trkseg><trkseg>
  <trkpt lat="48.001" lon="11.001"><time>2024-03-01T02:02:40.5+02:00</time></trkpt>
 </trkseg></trk>
 <trk><trkseg/></trk>
 <trk><trkseg><trkpt lat="48" lon="11"><time>2024-02-29T23:59:40Z</time></trkpt></trkseg></trk>
</gpx>"#;

    #[test]
    fn each_track_is_a_node_and_the_first_point_is_time_zero() {
        let paths = read(WALK).unwrap();
        assert_eq!(paths.len(), 2);
        let times: Vec<_> = paths[0].waypoints().iter().map(|w| w.at.as_secs_f64()).collect();
        assert_eq!(times, [0.0, 10.0, 60.5, 180.5]);
        let last = paths[0].waypoints()[3].place;
        assert!((last.x - 74.6).abs() < 0.1 && (last.y + 111.2).abs() < 0.1, "{last:?}");
        assert_eq!(paths[1].waypoints().len(), 1);
    }

    #[test]
    fn times_count_from_1970() {
        assert_eq!(nanos("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(nanos("2000-03-01T12:00:00.25Z"), Some(951_912_000_250_000_000));
        assert_eq!(nanos("2024-02-29T01:30:00+01:30"), Some(1_709_164_800_000_000_000));
        assert_eq!(nanos("1969-12-31T23:59:59-00:30"), Some(1_799_000_000_000));
        for wrong in [
            "",
            "2024-02-29",
            "2024-13-01T00:00:00Z",
            "2024-1-1T24:00:00Z",
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:0.xZ",
            "2024-01-01T+0:00:00Z",
            "2024-01-01T00:00:00+",
        ] {
            assert_eq!(nanos(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn problems_name_the_line_and_what_is_allowed() {
        let point = |inner: &str| {
            format!("<gpx><trk><trkseg>\n<trkpt lat='48' lon='11'>{inner}</trkpt></trkseg></trk></gpx>")
        };
        assert_eq!(refused("<gpx/>"), "1: found no track with points, allowed: one for each node");
        assert_eq!(refused(&point("")), "2: found a point without a time, allowed: points with times");
        assert_eq!(
            refused(&point("<time>noon</time>")),
            "2: found \"noon\", allowed: a time such as 2024-05-31T12:00:00Z"
        );
        assert_eq!(
            refused("<gpx><trk><trkpt lat='95' lon='0'/></trk></gpx>"),
            "1: found \"95\", allowed: a number from -9e1 to 9e1"
        );
        assert_eq!(
            refused("<gpx><trk><trkpt lat='49' lon='11'/></trk></gpx>"),
            "1: found 49, 11, 111 km from the origin, allowed: up to 100 km"
        );
        let time = |seconds: u32| {
            format!("<trkpt lat='48' lon='11'><time>2024-01-01T00:00:{seconds}Z</time></trkpt>")
        };
        let back = format!("<gpx><trk>{}\n{}</trk></gpx>", time(20), time(10));
        assert_eq!(refused(&back), "2: found a time before that of the last point");
        let outside = format!("<gpx>{}</gpx>", time(20));
        assert_eq!(
            refused(&outside),
            "1: found a point outside of a track, allowed: points inside of tracks"
        );
        for end in 0..WALK.len() {
            let _ = read(&WALK[..end]);
            let _ = read(&WALK[end..]);
        }
    }
}
