//! Movements as ns-2 scripts, which setdest, BonnMotion and SUMO write and ns-3 also reads.

use std::collections::BTreeMap;
use std::io;

use multihop_core::Instant;

use super::leg::Leg;
use super::path::{FASTEST, Path, Waypoint};
use super::text::{MAX_NODES, Problem, coordinate, lines, number, seconds, shorten, time};
use crate::grid::Point;

/// Reads the path of each node, from 0.
///
/// As in ns-2: `$node_(0) set X_ 5.0` (and `Y_`) sets the start of a node. `$ns_ at 2.0 "$node_(0) setdest
/// 30.0 40.0 1.5"` moves it from its position at that time to a point at a speed, and replaces its previous
/// movement; speed 0 stops it. Statements about `$god_` and text after `#` are skipped.
pub fn read(text: &str) -> Result<Vec<Path>, Problem> {
    let mut nodes = BTreeMap::new();
    let mut last = 1;
    for (line, content) in lines(text)? {
        statement(content, line, &mut nodes).map_err(|message| Problem { line, message })?;
        last = line;
    }
    if nodes.is_empty() {
        let message = "found no node, allowed: $node_(0) set X_ ... and so on".to_owned();
        return Err(Problem { line: last, message });
    }
    (0..).zip(nodes).map(|(expected, (number, node))| node.path(number, expected)).collect()
}

/// Writes paths as an ns-2 script, as [`read`] parses it.
pub fn write(paths: &[Path], out: &mut impl io::Write) -> io::Result<()> {
    let mut commands = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let Point { x, y } = path.waypoints()[0].place;
        writeln!(
            out,
            "$node_({number}) set X_ {x}\n$node_({number}) set Y_ {y}\n$node_({number}) set Z_ 0.0"
        )?;
        commands.extend(path.waypoints().windows(2).map(|pair| (pair[0].at, number, pair)));
    }
    commands.sort_by_key(|&(at, number, _)| (at, number));
    for (at, number, pair) in commands {
        let speed = pair[0].place.distance(pair[1].place) / (pair[1].at - at).as_secs_f64();
        if speed > 0.0 {
            let Point { x, y } = pair[1].place;
            // Rounding of times to a nanosecond can make a very short leg slightly too fast.
            let speed = speed.min(FASTEST);
            writeln!(out, "$ns_ at {} \"$node_({number}) setdest {x} {y} {speed}\"", seconds(at))?;
        }
    }
    Ok(())
}

/// The statements of a file about one node.
#[derive(Default)]
struct Node {
    /// Line of the node's first statement.
    line: usize,
    x: Option<f64>,
    y: Option<f64>,
    commands: Vec<Command>,
}

struct Command {
    at: Instant,
    to: Point,
    speed: f64,
}

impl Node {
    fn path(mut self, number: u32, expected: u32) -> Result<Path, Problem> {
        let problem = |message| Err(Problem { line: self.line, message });
        if number != expected {
            return problem(format!(
                "found node {number} but no node {expected}, allowed: consecutive numbers from 0"
            ));
        }
        let (Some(x), Some(y)) = (self.x, self.y) else {
            return problem(format!("found no place of node {number}, allowed: X_ and Y_ set"));
        };
        self.commands.sort_by_key(|command| command.at);
        Ok(follow(Point { x, y }, &self.commands))
    }
}

/// The path of a node that starts at `place` and executes `commands`, in order of time.
fn follow(place: Point, commands: &[Command]) -> Path {
    let mut leg = Leg::pause(Instant::ZERO, place, Instant::FAR_FUTURE);
    let mut waypoints = vec![Waypoint { at: Instant::ZERO, place }];
    for &Command { at, to, speed } in commands {
        if leg.end < at {
            waypoints.push(Waypoint { at: leg.end, place: leg.to });
        }
        let place = leg.at(at);
        waypoints.push(Waypoint { at, place });
        leg = if speed > 0.0 {
            Leg::trip(at, place, to, speed)
        } else {
            Leg::pause(at, place, Instant::FAR_FUTURE)
        };
    }
    if leg.end < Instant::FAR_FUTURE {
        waypoints.push(Waypoint { at: leg.end, place: leg.to });
    }
    Path::through(waypoints.into_iter())
}

fn statement(content: &str, line: usize, nodes: &mut BTreeMap<u32, Node>) -> Result<(), String> {
    let (first, rest) = content.split_once(char::is_whitespace).unwrap_or((content, ""));
    if content.starts_with('#') || first == "$god_" {
        return Ok(());
    }
    if first == "$ns_" {
        return scheduled(rest.trim(), line, nodes);
    }
    let [set, axis, value] = words(rest).ok_or_else(|| unknown(content))?;
    let number = node_number(first).ok_or_else(|| unknown(content))??;
    if set != "set" {
        return Err(unknown(content));
    }
    let node = nodes.entry(number).or_insert_with(|| Node { line, ..Node::default() });
    match axis {
        "X_" => node.x = Some(coordinate(value)?),
        "Y_" => node.y = Some(coordinate(value)?),
        // Some files give a height, which has no effect on a plane.
        "Z_" => drop(coordinate(value)?),
        _ => return Err(unknown(content)),
    }
    Ok(())
}

/// Parses the rest of a statement like `$ns_ at 2.0 "$node_(0) setdest 30.0 40.0 1.5"`.
fn scheduled(rest: &str, line: usize, nodes: &mut BTreeMap<u32, Node>) -> Result<(), String> {
    let unknown = || unknown(rest);
    let rest = rest.strip_prefix("at").filter(|rest| rest.starts_with(char::is_whitespace));
    let (at, quoted) =
        rest.and_then(|rest| rest.trim().split_once(char::is_whitespace)).ok_or_else(unknown)?;
    let command =
        quoted.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or_else(unknown)?;
    let at = time(at)?;
    if command.trim().starts_with("$god_ ") {
        return Ok(());
    }
    let [node, setdest, x, y, speed] = words(command).ok_or_else(unknown)?;
    let node = node_number(node).ok_or_else(unknown)??;
    if setdest != "setdest" {
        return Err(unknown());
    }
    let to = Point { x: coordinate(x)?, y: coordinate(y)? };
    let command = Command { at, to, speed: number(speed, 0.0, FASTEST)? };
    nodes.entry(node).or_insert_with(|| Node { line, ..Node::default() }).commands.push(command);
    Ok(())
}

/// The number in `$node_(7)`, if it has that form.
fn node_number(word: &str) -> Option<Result<u32, String>> {
    let digits = word.strip_prefix("$node_(")?.strip_suffix(')')?;
    let number = digits.parse().ok().filter(|&number: &u32| (number as usize) < MAX_NODES);
    let found = || format!("found node {:?}, allowed: 0 to {}", shorten(digits), MAX_NODES - 1);
    Some(number.ok_or_else(found))
}

/// Splits `text` at white space into exactly `N` words; otherwise None.
fn words<const N: usize>(text: &str) -> Option<[&str; N]> {
    let mut words = text.split_whitespace();
    let mut found = [""; N];
    for word in &mut found {
        *word = words.next()?;
    }
    words.next().is_none().then_some(found)
}

fn unknown(found: &str) -> String {
    format!(
        "found {:?}, allowed: $node_(N) set X_ METRES and $ns_ at SECONDS \"$node_(N) setdest X Y SPEED\"",
        shorten(found)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time in seconds, x and y of each waypoint.
    fn waypoints(path: &Path) -> Vec<(f64, f64, f64)> {
        path.waypoints().iter().map(|w| (w.at.as_secs_f64(), w.place.x, w.place.y)).collect()
    }

    fn one(commands: &str) -> Vec<(f64, f64, f64)> {
        let text = format!("$node_(0) set X_ 0.0\n$node_(0) set Y_ 0.0\n{commands}");
        waypoints(&read(&text).unwrap()[0])
    }

    fn refused(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn what_setdest_writes_is_read() {
        let text = "#\n# nodes: 2, pause: 10.00, max speed: 20.00\n#\n\
            $node_(0) set X_ 10.000000000000\n$node_(0) set Y_ 20.000000000000\n$node_(0) set Z_ 0.000000000000\n\
            $node_(1) set X_ 0\n$node_(1) set Y_ 0\n$god_ set-dist 0 1 1\n\
            $ns_ at 10.000000000000 \"$node_(0) setdest 40.000000000000 60.000000000000 5.000000000000\"\r\n\
            $ns_ at 12.5 \"$god_ set-dist 0 1 16777215\"\n\
            $ns_ at 20.000000000000 \"$node_(0) setdest 40.000000000000 60.000000000000 0.000000000000\"\n";
        let paths = read(text).unwrap();
        assert_eq!(waypoints(&paths[0]), [(0.0, 10.0, 20.0), (10.0, 10.0, 20.0), (20.0, 40.0, 60.0)]);
        assert_eq!(waypoints(&paths[1]), [(0.0, 0.0, 0.0)]);
    }

    #[test]
    fn a_new_command_interrupts_a_running_movement() {
        let turned =
            one("$ns_ at 0 \"$node_(0) setdest 100 0 10\"\n$ns_ at 4 \"$node_(0) setdest 40 30 10\"\n");
        assert_eq!(turned, [(0.0, 0.0, 0.0), (4.0, 40.0, 0.0), (7.0, 40.0, 30.0)]);
        let stopped =
            one("$ns_ at 0 \"$node_(0) setdest 100 0 10\"\n$ns_ at 4 \"$node_(0) setdest 100 0 0\"\n");
        assert_eq!(stopped, [(0.0, 0.0, 0.0), (4.0, 40.0, 0.0)]);
    }

    #[test]
    fn the_order_of_lines_matters_only_among_commands_of_one_instant() {
        let later = "$ns_ at 4 \"$node_(0) setdest 0 0 5\"\n";
        let first = "$ns_ at 0 \"$node_(0) setdest 20 0 10\"\n";
        assert_eq!(one(&format!("{later}{first}")), one(&format!("{first}{later}")));
        let second = "$ns_ at 0 \"$node_(0) setdest 0 30 10\"\n";
        assert_eq!(one(&format!("{first}{second}")), [(0.0, 0.0, 0.0), (3.0, 0.0, 30.0)]);
        assert_eq!(one(&format!("{second}{first}")), [(0.0, 0.0, 0.0), (2.0, 20.0, 0.0)]);
    }

    #[test]
    fn what_is_written_is_read_back_exactly() {
        let place = |x, y| Point { x, y };
        let at = |nanos| Instant::from_nanos(nanos);
        let list = [
            (at(0), place(0.1, -1e-3)),
            (at(1_234_567_891), place(0.1, -1e-3)),
            (at(1_234_567_892), place(0.1 + 1e-8, -1e-3)),
            (at(100_000_000_001), place(1.0 / 3.0, 1e5)),
            (at(200_000_000_000), place(1.0 / 3.0, 1e5)),
            (at(900_000_000_000_007), place(-7.0, 8.0)),
        ];
        let moving = Path::new(&list.map(|(at, place)| Waypoint { at, place })).unwrap();
        let still = Path::new(&[Waypoint { at: at(0), place: place(5.0, 6.0) }]).unwrap();
        let paths = vec![moving, still];
        let mut text = Vec::new();
        write(&paths, &mut text).unwrap();
        assert_eq!(read(core::str::from_utf8(&text).unwrap()), Ok(paths));
    }

    #[test]
    fn commands_are_written_in_order_of_time() {
        let text = "$node_(0) set X_ 1\n$node_(0) set Y_ 2.5\n$node_(0) set Z_ 0.0\n\
            $node_(1) set X_ 0\n$node_(1) set Y_ 0\n$node_(1) set Z_ 0.0\n\
            $ns_ at 1.000000000 \"$node_(0) setdest 11 2.5 10\"\n\
            $ns_ at 1.500000000 \"$node_(1) setdest 0 -3 0.5\"\n\
            $ns_ at 2.000000000 \"$node_(0) setdest 31 2.5 20\"\n";
        let mut written = Vec::new();
        write(&read(text).unwrap(), &mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), text);
    }

    #[test]
    fn a_leg_shortened_by_rounding_is_not_too_fast() {
        // Rounding shortens 1.4 ns to 1 ns.
        let text =
            "$node_(0) set X_ 0\n$node_(0) set Y_ 0\n$ns_ at 1 \"$node_(0) setdest 0.000014 0 10000\"\n";
        let paths = read(text).unwrap();
        assert_eq!(Path::new(paths[0].waypoints()).as_ref(), Ok(&paths[0]));
        let mut written = Vec::new();
        write(&paths, &mut written).unwrap();
        assert_eq!(read(core::str::from_utf8(&written).unwrap()), Ok(paths));
    }

    #[test]
    fn problems_name_the_line_and_what_is_allowed() {
        let place = "$node_(0) set X_ 1\n$node_(0) set Y_ 1\n";
        let number = |found| format!("found {found:?}, allowed: a number from -1e7 to 1e7");
        assert_eq!(refused("$node_(0) set X_ 1\n\n$node_(0) set Y_ NaN"), format!("3: {}", number("NaN")));
        assert_eq!(refused("$node_(0) set X_ 1e8"), format!("1: {}", number("1e8")));
        assert_eq!(refused("\n$node_(0) set X_ 1"), "2: found no place of node 0, allowed: X_ and Y_ set");
        assert_eq!(
            refused("$node_(1) set X_ 1\n$node_(1) set Y_ 1"),
            "1: found node 1 but no node 0, allowed: consecutive numbers from 0"
        );
        assert_eq!(refused("$node_(100000) set X_ 1"), "1: found node \"100000\", allowed: 0 to 99999");
        assert_eq!(refused("$node_(-1) set X_ 1"), "1: found node \"-1\", allowed: 0 to 99999");
        assert_eq!(refused(""), "1: found no node, allowed: $node_(0) set X_ ... and so on");
        assert_eq!(
            refused(&format!("{place}$ns_ at 1 \"$node_(0) setdest 1 2 -3\"")),
            "3: found \"-3\", allowed: a number from 0e0 to 1e4"
        );
        assert_eq!(
            refused(&format!("{place}$ns_ at -1 \"$node_(0) setdest 1 2 3\"")),
            "3: found \"-1\", allowed: a number from 0e0 to 1e9"
        );
        for wrong in [
            "puts hello",
            "$node_(0) set W_ 1",
            "$node_(0) get X_ 1",
            "$node_(0) set X_",
            "$node_(0) set X_ 1 2",
            "$ns_ at 1",
            "$ns_ at 1 $node_(0) setdest 1 2 3",
            "$ns_ at 1 \"$node_(0) set X_ 3\"",
            "$ns_ at 1 \"$node_(0) setdest 1 2\"",
            "$ns_ after 1 \"$node_(0) setdest 1 2 3\"",
            "$ns_ at 1 \"",
        ] {
            let message = refused(&format!("{place}{wrong}"));
            assert!(
                message.starts_with("3: found \"") && message.contains("allowed: $node_(N) set"),
                "{message}"
            );
        }
    }

    #[test]
    fn files_that_are_too_long_are_refused() {
        let text = " ".repeat(super::super::text::LONGEST_FILE + 1);
        assert_eq!(refused(&text), "1: found 67108865 bytes, allowed: up to 67108864");
    }

    #[test]
    fn the_slowest_node_still_moves() {
        let slow = one("$ns_ at 1 \"$node_(0) setdest 10000000 0 0.001\"\n");
        assert_eq!(slow, [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1_000_000_001.0, 1_000_000.0, 0.0)]);
        assert_eq!(one("$ns_ at 1 \"$node_(0) setdest 5 5 1e-320\"\n"), [(0.0, 0.0, 0.0)]);
    }
}
