//! Requests of a client: the JSON objects, and the messages about wrong ones.
//!
//! # Format
//!
//! A node is a number or a name, a link is a list of two nodes. Keys behind a semicolon are optional.
//!
//! | `do` | keys | effect; value of `ok` |
//! |---|---|---|
//! | `start` | `node`, `command`; `environment`, `directory`, `image` | starts a command line for `sh`, or a list of words. With the folder of an *image* (`docs/how-to/containers.md`), `command` is optional. `program` is the number of the program, `pid` its process number on this machine (null if it ended at once) |
//! | `wait` | `program`; `timeout` | waits for the end: `{"ended": true, "exit_code": 0, "signal": null}`, or after `timeout` virtual seconds `{"ended": false}` |
//! | `output` | `program`; `stream`, `from` | up to 64 KiB of `stdout` (default) or `stderr` from byte `from` on; a negative `from` counts from the end. `next`: the next byte; `end`: bytes so far |
//! | `signal` | `program`; `signal` | sends a signal to the program's process group: HUP, INT, QUIT, KILL (default), USR1, USR2, TERM, CONT, STOP |
//! | `cut` | `link` | puts a wall between two nodes, which then neither hear nor sense each other |
//! | `mend` | `link` | removes the wall |
//! | `move` | `node`, `to` | puts a node at `[x, y]`, m, where it stays; static routes remain |
//! | `loss` | `chance`; `of`, `link` | loses `frames` (default), which the MAC repeats, or `packets`, on a link in both directions or on all links |
//! | `freeze` | `node` | silences the node's radios, drops its queued packets and stops its programs (SIGSTOP) |
//! | `thaw` | `node` | ends `freeze` |
//! | `counters` | `node` | counters of the node and of its links, since the warm-up |
//! | `ports` | `node` | `{"open": [5201]}`: TCP and UDP ports that programs of the node have opened; only in *virtual time* (`docs/lab.md#virtual-time`) |
//! | `capture` | `file` | writes frames from now on (pcapng) |
//! | `status` | | `time`, virtual s, and `emulation`: *lateness* (`docs/emulation.md#lateness`) |
//! | `end` | | ends the emulation |

use std::collections::BTreeMap;
use std::path::PathBuf;

use multihop_core::Duration;
use multihop_scenario::find_station;
use multihop_sim::live::{Change, LossKind};
use nix::sys::signal::Signal;
use serde_json::{Map, Value};

use crate::sandbox::Words;

/// A checked request; its reply has the number of the request.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    Start(Start),
    Wait { program: usize, timeout: Option<Duration> },
    Output { program: usize, stream: Stream, from: i64 },
    Signal { program: usize, signal: Signal },
    Change(Change),
    Counters { node: usize },
    Ports { node: usize },
    Capture { file: PathBuf },
    Status,
    End,
}

/// A program that a client starts.
#[derive(Debug, PartialEq)]
pub(crate) struct Start {
    pub(crate) station: usize,
    pub(crate) words: Words,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) directory: Option<PathBuf>,
    /// Folder of the image in which the program runs.
    pub(crate) image: Option<PathBuf>,
}

/// Output stream of a program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// Reads the request in a line. Returns also the number of the request, if that could be read.
pub(crate) fn parse(line: &[u8], names: &[String]) -> (Value, Result<Request, String>) {
    let mut keys = match serde_json::from_slice(line) {
        Ok(Value::Object(keys)) => Keys { keys, names },
        Ok(other) => return (Value::Null, Err(format!("found {}, allowed: a JSON object", shown(&other)))),
        Err(error) => {
            return (
                Value::Null,
                Err(format!("found a line that is not JSON ({error}), allowed: a JSON object")),
            );
        }
    };
    let id = keys.keys.remove("id").unwrap_or_default();
    if !(id.is_null() || id.is_u64()) {
        return (Value::Null, Err(format!("id: found {}, allowed: a whole number from 0", shown(&id))));
    }
    let request = keys.request();
    (id, request)
}

/// Names of requests with their keys.
const REQUESTS: [(&str, &[&str]); 15] = [
    ("start", &["node", "command", "environment", "directory", "image"]),
    ("wait", &["program", "timeout"]),
    ("output", &["program", "stream", "from"]),
    ("signal", &["program", "signal"]),
    ("cut", &["link"]),
    ("mend", &["link"]),
    ("move", &["node", "to"]),
    ("loss", &["of", "chance", "link"]),
    ("freeze", &["node"]),
    ("thaw", &["node"]),
    ("counters", &["node"]),
    ("ports", &["node"]),
    ("capture", &["file"]),
    ("status", &[]),
    ("end", &[]),
];

/// Signals that a request may send.
const SIGNALS: [Signal; 9] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGKILL,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTERM,
    Signal::SIGCONT,
    Signal::SIGSTOP,
];

/// Keys of a request that have not been read yet.
struct Keys<'a> {
    keys: Map<String, Value>,
    names: &'a [String],
}

impl Keys<'_> {
    fn request(mut self) -> Result<Request, String> {
        let names = || list(REQUESTS.iter().map(|(name, _)| *name));
        let name = self.keys.remove("do").unwrap_or_default();
        let found = name.as_str().and_then(|text| REQUESTS.iter().find(|(known, _)| *known == text));
        let Some((name, allowed)) = found else {
            return Err(format!("do: found {}, allowed: {}", shown(&name), names()));
        };
        if let Some(key) = self.keys.keys().find(|key| !allowed.contains(&key.as_str())) {
            let allowed =
                if allowed.is_empty() { "no key".to_owned() } else { list(allowed.iter().copied()) };
            return Err(format!("{name}: found the key {:?}, allowed: {allowed}", clipped(key)));
        }
        self.named(name).map_err(|message| format!("{name}: {message}"))
    }

    fn named(&mut self, name: &str) -> Result<Request, String> {
        match name {
            "start" => self.start(),
            "wait" => self.wait(),
            "output" => self.output(),
            "signal" => Ok(Request::Signal { program: self.program()?, signal: self.signal()? }),
            "cut" => Ok(Request::Change(Change::Cut(self.link()?))),
            "mend" => Ok(Request::Change(Change::Mend(self.link()?))),
            "move" => Ok(Request::Change(Change::Move { node: self.node_number()?, to: self.place()? })),
            "loss" => self.loss(),
            "freeze" => Ok(Request::Change(Change::Freeze(self.node_number()?))),
            "thaw" => Ok(Request::Change(Change::Thaw(self.node_number()?))),
            "counters" => Ok(Request::Counters { node: self.node()? }),
            "ports" => Ok(Request::Ports { node: self.node()? }),
            "capture" => Ok(Request::Capture { file: self.text("file")?.into() }),
            "status" => Ok(Request::Status),
            _ => Ok(Request::End),
        }
    }

    fn start(&mut self) -> Result<Request, String> {
        let station = self.node()?;
        let image = self.keys.contains_key("image").then(|| self.text("image")).transpose()?;
        let words = match self.keys.remove("command") {
            Some(Value::String(line)) => Words::Shell(line),
            None if image.is_some() => Words::OfImage,
            other => {
                let words = other.as_ref().and_then(texts).filter(|words| !words.is_empty());
                Words::Arguments(words.ok_or_else(|| {
                    wrong("command", other.as_ref(), "a command line for sh, or a list of words")
                })?)
            }
        };
        let environment = match self.keys.remove("environment") {
            None => BTreeMap::new(),
            Some(found) => serde_json::from_value(found.clone())
                .map_err(|_| wrong("environment", Some(&found), "an object with texts"))?,
        };
        let directory = self.keys.contains_key("directory").then(|| self.text("directory")).transpose()?;
        if let Some(text) = words
            .texts()
            .iter()
            .chain(environment.keys())
            .chain(environment.values())
            .find(|text| text.contains('\0'))
        {
            return Err(format!("found {:?}, allowed: texts without a zero byte", clipped(text)));
        }
        let (directory, image) = (directory.map(Into::into), image.map(Into::into));
        Ok(Request::Start(Start { station, words, environment, directory, image }))
    }

    fn wait(&mut self) -> Result<Request, String> {
        let program = self.program()?;
        let timeout = match self.keys.remove("timeout") {
            None | Some(Value::Null) => None,
            Some(found) => {
                let seconds = found.as_f64().filter(|seconds| (0.0..=LONGEST_TIMEOUT).contains(seconds));
                Some(seconds.ok_or_else(|| wrong("timeout", Some(&found), "0 to 1000000 seconds"))?)
            }
        };
        Ok(Request::Wait { program, timeout: timeout.map(Duration::from_secs_f64) })
    }

    fn output(&mut self) -> Result<Request, String> {
        let program = self.program()?;
        let stream = match self.keys.remove("stream") {
            None => Stream::Stdout,
            Some(found) => match found.as_str() {
                Some("stdout") => Stream::Stdout,
                Some("stderr") => Stream::Stderr,
                _ => return Err(wrong("stream", Some(&found), "stdout, stderr")),
            },
        };
        let from = self.keys.remove("from").unwrap_or_else(|| 0.into());
        let from = from.as_i64().ok_or_else(|| wrong("from", Some(&from), "a whole number of bytes"))?;
        Ok(Request::Output { program, stream, from })
    }

    fn signal(&mut self) -> Result<Signal, String> {
        let Some(found) = self.keys.remove("signal") else { return Ok(Signal::SIGKILL) };
        let known = |name: &str| SIGNALS.into_iter().find(|signal| short(*signal) == name);
        let allowed = || list(SIGNALS.into_iter().map(short));
        found.as_str().and_then(known).ok_or_else(|| wrong("signal", Some(&found), &allowed()))
    }

    fn loss(&mut self) -> Result<Request, String> {
        let of = match self.keys.remove("of") {
            None => LossKind::Frames,
            Some(found) => serde_json::from_value(found.clone())
                .map_err(|_| wrong("of", Some(&found), "frames, packets"))?,
        };
        let chance = self.keys.remove("chance");
        let chance = chance
            .as_ref()
            .and_then(Value::as_f64)
            .ok_or_else(|| wrong("chance", chance.as_ref(), "0 to 1"))?;
        let link = self.keys.contains_key("link").then(|| self.link()).transpose()?;
        Ok(Request::Change(Change::Loss { of, chance, link }))
    }

    fn program(&mut self) -> Result<usize, String> {
        let found = self.keys.remove("program");
        let number = found.as_ref().and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| wrong("program", found.as_ref(), "the number of a program"))
    }

    fn node(&mut self) -> Result<usize, String> {
        let found = self.keys.remove("node").unwrap_or_default();
        self.find(&found)
    }

    fn node_number(&mut self) -> Result<u32, String> {
        self.node().map(|node| u32::try_from(node).expect("a checked number of nodes"))
    }

    fn link(&mut self) -> Result<[u32; 2], String> {
        let found = self.keys.remove("link").unwrap_or_default();
        let Some([a, b]) = found.as_array().map(Vec::as_slice) else {
            return Err(wrong("link", Some(&found), "a list of two nodes"));
        };
        let number =
            |value| self.find(value).map(|node| u32::try_from(node).expect("a checked number of nodes"));
        Ok([number(a)?, number(b)?])
    }

    /// The node or host that a number or a name means.
    fn find(&self, value: &Value) -> Result<usize, String> {
        let text = match value {
            Value::Number(number) => number.to_string(),
            Value::String(name) => clipped(name).to_owned(),
            _ => return Err(wrong("node", Some(value), "the number or name of a node")),
        };
        find_station(self.names, &text)
    }

    fn place(&mut self) -> Result<[f64; 2], String> {
        let found = self.keys.remove("to").unwrap_or_default();
        serde_json::from_value(found.clone())
            .map_err(|_| wrong("to", Some(&found), "a list of two numbers, m"))
    }

    fn text(&mut self, key: &str) -> Result<String, String> {
        match self.keys.remove(key) {
            Some(Value::String(text)) if !text.is_empty() && !text.contains('\0') => Ok(text),
            other => Err(wrong(key, other.as_ref(), "a path")),
        }
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
}

fn wrong(key: &str, found: Option<&Value>, allowed: &str) -> String {
    let found = found.map_or_else(|| "nothing".to_owned(), shown);
    format!("{key}: found {found}, allowed: {allowed}")
}

/// A value in a message.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        other => {
            let text = other.to_string();
            let short = clipped(&text);
            if short.len() < text.len() { format!("{short}...") } else { text }
        }
    }
}

/// The first characters of a text.
fn clipped(text: &str) -> &str {
    text.char_indices().nth(LONGEST_SHOWN).map_or(text, |(end, _)| &text[..end])
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// Name of a signal without SIG.
fn short(signal: Signal) -> &'static str {
    signal.as_str().trim_start_matches("SIG")
}

/// Longest timeout of a wait for a program, s.
const LONGEST_TIMEOUT: f64 = 1e6;
/// Largest number of characters of a wrong value that an error message quotes.
const LONGEST_SHOWN: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> (Value, Result<Request, String>) {
        let names = ["node0", "north", "node2"].map(str::to_owned);
        parse(line.as_bytes(), &names)
    }

    #[test]
    fn requests_are_read_with_their_defaults() {
        let start = |words, image: Option<&str>| {
            let (environment, directory) = (BTreeMap::new(), None);
            Request::Start(Start { station: 1, words, environment, directory, image: image.map(Into::into) })
        };
        let words = || Words::Arguments(["a", "b"].map(str::to_owned).to_vec());
        for (line, expected) in [
            (
                r#"{"do": "start", "node": "north", "command": "a | b"}"#,
                start(Words::Shell("a | b".to_owned()), None),
            ),
            (r#"{"do": "start", "node": 1, "command": ["a", "b"]}"#, start(words(), None)),
            (r#"{"do": "start", "node": 1, "image": "i"}"#, start(Words::OfImage, Some("i"))),
            (
                r#"{"do": "wait", "program": 3, "timeout": 1.5}"#,
                Request::Wait { program: 3, timeout: Some(Duration::from_millis(1500)) },
            ),
            (
                r#"{"do": "output", "program": 0, "stream": "stderr", "from": -10}"#,
                Request::Output { program: 0, stream: Stream::Stderr, from: -10 },
            ),
            (r#"{"do": "signal", "program": 0}"#, Request::Signal { program: 0, signal: Signal::SIGKILL }),
            (r#"{"do": "cut", "link": [0, "north"]}"#, Request::Change(Change::Cut([0, 1]))),
            (
                r#"{"do": "loss", "chance": 0.1}"#,
                Request::Change(Change::Loss { of: LossKind::Frames, chance: 0.1, link: None }),
            ),
            (
                r#"{"do": "move", "node": 2, "to": [1, 2.5]}"#,
                Request::Change(Change::Move { node: 2, to: [1.0, 2.5] }),
            ),
            (r#"{"do": "end"}"#, Request::End),
        ] {
            assert_eq!(parsed(line), (Value::Null, Ok(expected)), "{line}");
        }
        assert_eq!(parsed(r#"{"id": 7, "do": "status"}"#), (7.into(), Ok(Request::Status)));
    }

    #[test]
    fn wrong_requests_are_told_what_is_allowed() {
        for (line, expected) in [
            ("[1]", "found [1], allowed: a JSON object"),
            (r#"{"id": "a", "do": "end"}"#, "id: found \"a\", allowed: a whole number from 0"),
            (
                r#"{"do": "stat"}"#,
                "do: found \"stat\", allowed: start, wait, output, signal, cut, mend, move, loss, freeze, thaw, \
                 counters, ports, capture, status, end",
            ),
            (r#"{"do": "end", "now": 1}"#, "end: found the key \"now\", allowed: no key"),
            (
                r#"{"do": "wait", "programm": 1}"#,
                "wait: found the key \"programm\", allowed: program, timeout",
            ),
            (
                r#"{"do": "freeze", "node": 3}"#,
                "freeze: found node \"3\", allowed: 0 to 2, or a name: node0, north, node2",
            ),
            (
                r#"{"do": "start", "node": 0}"#,
                "start: command: found nothing, allowed: a command line for sh, or a list of words",
            ),
            (
                r#"{"do": "start", "node": 0, "command": "a\u0000b"}"#,
                "start: found \"a\\0b\", allowed: texts without a zero byte",
            ),
            (
                r#"{"do": "signal", "program": 0, "signal": "SEGV"}"#,
                "signal: signal: found \"SEGV\", allowed: HUP, INT, QUIT, KILL, USR1, USR2, TERM, CONT, STOP",
            ),
            (r#"{"do": "cut", "link": [1]}"#, "cut: link: found [1], allowed: a list of two nodes"),
            (r#"{"do": "loss"}"#, "loss: chance: found nothing, allowed: 0 to 1"),
            (
                r#"{"do": "wait", "program": 0, "timeout": -1}"#,
                "wait: timeout: found -1, allowed: 0 to 1000000 seconds",
            ),
        ] {
            assert_eq!(parsed(line).1, Err(expected.to_owned()), "{line}");
        }
        let (_, long) = parsed(&format!(r#"{{"do": "{}"}}"#, "x".repeat(100_000)));
        assert!(long.unwrap_err().len() < 300);
        assert!(parsed("{").1.unwrap_err().starts_with("found a line that is not JSON"));
    }
}
