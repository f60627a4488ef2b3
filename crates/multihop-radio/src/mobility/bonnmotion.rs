//! Movements in BonnMotion's native format: one line for each node with its waypoints (time, x, y).

use std::io;

use super::path::{Path, Waypoint};
use super::text::{MAX_NODES, Problem, coordinate, lines, seconds, time};
use crate::grid::Point;

/// Reads the path of each node from its line: `0.0 5.0 5.0 12.5 30.0 40.0` starts at (5, 5) and reaches (30, 40) after
/// 12.5 s.
///
/// Lines that start with `#` are skipped, except `#3D`, which is refused.
pub fn read(text: &str) -> Result<Vec<Path>, Problem> {
    let mut paths = Vec::new();
    for (line, content) in lines(text)? {
        let problem = |message| Problem { line, message };
        if content.eq_ignore_ascii_case("#3D") {
            return Err(problem("found a file in three dimensions, allowed: two".to_owned()));
        }
        if content.starts_with('#') {
            continue;
        }
        if paths.len() == MAX_NODES {
            return Err(problem(format!("found more than {MAX_NODES} nodes, allowed: up to {MAX_NODES}")));
        }
        paths.push(path(content).map_err(problem)?);
    }
    if paths.is_empty() {
        return Err(Problem { line: 1, message: "found no node, allowed: one in each line".to_owned() });
    }
    Ok(paths)
}

/// Writes paths in BonnMotion's native format, as [`read`] parses it.
pub fn write(paths: &[Path], out: &mut impl io::Write) -> io::Result<()> {
    for path in paths {
        for (n, Waypoint { at, place }) in path.waypoints().iter().enumerate() {
            let separator = if n == 0 { "" } else { " " };
            write!(out, "{separator}{} {} {}", seconds(*at), place.x, place.y)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn path(content: &str) -> Result<Path, String> {
    let mut words = content.split_whitespace();
    let mut waypoints = Vec::new();
    while let Some(at) = words.next() {
        let (Some(x), Some(y)) = (words.next(), words.next()) else {
            let count = content.split_whitespace().count();
            return Err(format!("found {count} numbers, allowed: time, x and y in turn"));
        };
        let place = Point { x: coordinate(x)?, y: coordinate(y)? };
        waypoints.push(Waypoint { at: time(at)?, place });
    }
    Path::new(&waypoints).map_err(|bad| bad.to_string())
}

#[cfg(test)]
mod tests {
    use multihop_core::{Instant, NodeId};

    use super::super::{Area, Movement, RandomWalk, RandomWalkParams};
    use super::*;

    fn refused(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn each_line_is_a_node() {
        let paths =
            read("# model\n0.0 5.0 5.0 12.5 30.0 40.0 20.0 30.0 40.0 21 30 41\n\n3 -1 2\r\n").unwrap();
        let waypoints = |n: usize| {
            let list = paths[n].waypoints();
            list.iter().map(|w| (w.at.as_secs_f64(), w.place.x, w.place.y)).collect::<Vec<_>>()
        };
        assert_eq!(
            waypoints(0),
            [(0.0, 5.0, 5.0), (12.5, 30.0, 40.0), (20.0, 30.0, 40.0), (21.0, 30.0, 41.0)]
        );
        assert_eq!(waypoints(1), [(0.0, -1.0, 2.0)]);
        assert_eq!(paths.len(), 2);
    }

    #[test]
    fn what_is_written_is_read_back_exactly() {
        let params = RandomWalkParams {
            area: Area { width: 1000.0, height: 300.0 },
            max_speed: 20.0,
            mean_spell: multihop_core::Duration::from_secs(30),
        };
        let paths: Vec<_> = (0..5)
            .map(|n| Movement::RandomWalk(RandomWalk::new(params, 1, NodeId(n))))
            .map(|movement| movement.recorded(Instant::from_nanos(900_000_000_000)))
            .collect();
        let mut text = Vec::new();
        write(&paths, &mut text).unwrap();
        assert_eq!(read(core::str::from_utf8(&text).unwrap()), Ok(paths));
    }

    #[test]
    fn problems_name_the_line_and_what_is_allowed() {
        assert_eq!(refused("0 1 2\n0 1 2 5"), "2: found 4 numbers, allowed: time, x and y in turn");
        assert_eq!(refused("0 1 x"), "1: found \"x\", allowed: a number from -1e7 to 1e7");
        assert_eq!(refused("inf 1 1"), "1: found \"inf\", allowed: a number from 0e0 to 1e9");
        assert_eq!(
            refused("0 1 1 5 2 2 4 3 3"),
            "1: waypoint 2: found 4.000000000s after 5.000000000s, allowed: a later time"
        );
        assert_eq!(refused("#3D\n0 1 1 0"), "1: found a file in three dimensions, allowed: two");
        assert_eq!(refused("# nothing\n"), "1: found no node, allowed: one in each line");
        assert_eq!(
            refused("0 0 0 1 20000 0"),
            "1: waypoint 1: found 20000 m in 1.000000000s, allowed: up to 10000 m/s"
        );
        let many = "0 0 0\n".repeat(MAX_NODES + 1);
        assert_eq!(refused(&many), "100001: found more than 100000 nodes, allowed: up to 100000");
    }
}
