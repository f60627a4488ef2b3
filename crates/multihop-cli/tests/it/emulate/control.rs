//! `multihop emulate --control`: requests and replies.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::{CHAIN, command, folder, is_possible, runs, until};
use crate::Folder;

/// A client of an emulation.
struct Client {
    child: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    fn start(folder: &Folder, args: &[&str]) -> Self {
        let args = [&["emulate"], args, &["--control"]].concat();
        let mut command = command(folder, &args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let replies = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { requests: child.stdin.take(), child, replies, last: 0 };
        if args.contains(&"-") {
            client.write(&json!({"duration": 60.0, "topology": {"kind": "chain", "hops": 1}}).to_string());
        }
        assert_eq!(client.read()["event"], "ready");
        client
    }

    fn write(&mut self, line: &str) {
        writeln!(self.requests.as_mut().unwrap(), "{line}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.replies.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Sends a request and returns its result.
    fn ask(&mut self, request: Value) -> Value {
        let reply = self.reply(request);
        reply.get("ok").unwrap_or_else(|| panic!("{reply}")).clone()
    }

    /// Sends a request that is refused; returns the message.
    fn refused(&mut self, request: Value) -> String {
        let reply = self.reply(request);
        reply["error"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
    }

    fn reply(&mut self, mut request: Value) -> Value {
        self.last += 1;
        request["id"] = self.last.into();
        self.write(&request.to_string());
        let reply = self.read();
        assert_eq!(reply["id"], self.last, "{reply}");
        reply
    }

    /// Starts a program; returns its number.
    fn program(&mut self, node: u32, line: &str) -> u64 {
        self.ask(json!({"do": "start", "node": node, "command": line}))["program"].as_u64().unwrap()
    }

    /// Runs a program to its end; returns its exit code and standard output.
    fn run(&mut self, node: u32, line: &str) -> (Option<i64>, String) {
        let program = self.program(node, line);
        let ended = self.ask(json!({"do": "wait", "program": program, "timeout": 50}));
        assert_eq!(ended["ended"], true, "{line}");
        let output = self.ask(json!({"do": "output", "program": program}));
        (ended["exit_code"].as_i64(), output["text"].as_str().unwrap().to_owned())
    }

    /// Whether node 0 reaches a node by one of a few packets.
    fn pings(&mut self, address: &str) -> bool {
        self.run(0, &format!("ping -c 5 -i 0.2 -W 1 {address}")).0 == Some(0)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_client_starts_programs_and_ends_with_the_result() {
    let folder = folder("control-programs", CHAIN);
    if !is_possible(&folder, &[]) {
        return;
    }
    let mut client = Client::start(&folder, &["x.toml"]);
    let said = client.run(3, "echo $ADDRESS_3; echo wrong >&2; hostname -I 2>/dev/null; exit 7");
    assert_eq!(said.0, Some(7));
    assert!(said.1.starts_with("10.0.0.4\n"), "{said:?}");
    let stderr = client.ask(json!({"do": "output", "program": 0, "stream": "stderr", "from": -4}));
    assert_eq!(stderr["text"], "ong\n");

    let words = json!({"do": "start", "node": "node1", "command": ["sh", "-c", "echo $A; pwd; sleep 4711"],
                       "environment": {"A": "b"}, "directory": "/"});
    assert_eq!(client.ask(words)["program"], 1);
    let waiting = client.ask(json!({"do": "wait", "program": 1, "timeout": 0.2}));
    assert_eq!(waiting, json!({"ended": false}));
    assert_eq!(client.ask(json!({"do": "output", "program": 1}))["text"], "b\n/\n");
    client.ask(json!({"do": "signal", "program": 1, "signal": "TERM"}));
    let ended = client.ask(json!({"do": "wait", "program": 1}));
    assert_eq!(ended, json!({"ended": true, "exit_code": null, "signal": 15}));
    until("the end of the whole process group", || !runs("4711"));

    client.program(2, "sleep 4712");
    client.ask(json!({"do": "end"}));
    let result = client.read();
    assert_eq!(result["event"], "result");
    let programs = result["result"]["programs"].as_array().unwrap();
    assert_eq!(programs[0]["exit_code"], 7);
    assert_eq!((&programs[1]["signal"], &programs[1]["stopped"]), (&15.into(), &true.into()));
    assert_eq!(programs[2]["stopped"], true);
    assert_eq!(client.child.wait().unwrap().code(), Some(0));
    assert!(!runs("4712"));
}

#[test]
fn a_client_changes_the_network() {
    let folder = folder("control-changes", &CHAIN.replace("duration = 20.0", "duration = 300.0"));
    if !is_possible(&folder, &["ping"]) {
        return;
    }
    let mut client = Client::start(&folder, &["x.toml", "--record", "rec"]);
    assert!(client.pings("node3"));
    client.ask(json!({"do": "cut", "link": [1, 2]}));
    assert!(!client.pings("node3"));
    client.ask(json!({"do": "mend", "link": [2, 1]}));
    assert!(client.pings("node3"));
    client.ask(json!({"do": "move", "node": 3, "to": [5000, 0]}));
    assert!(!client.pings("node3"));
    client.ask(json!({"do": "move", "node": 3, "to": [600, 0]}));
    client.ask(json!({"do": "loss", "of": "packets", "chance": 1, "link": [0, 1]}));
    assert!(!client.pings("node1"));
    client.ask(json!({"do": "loss", "of": "packets", "chance": 0}));
    let before = client.ask(json!({"do": "counters", "node": 0}));
    client.ask(json!({"do": "loss", "chance": 0.5}));
    client.pings("node1");
    let after = client.ask(json!({"do": "counters", "node": 0}));
    let retries = |counters: &Value| counters["links"][0]["retries"].as_u64().unwrap();
    assert!(retries(&after) > retries(&before), "{before} {after}");
    client.ask(json!({"do": "loss", "chance": 0}));

    let beat = client.program(1, "while :; do echo beat; sleep 0.05; done");
    client.ask(json!({"do": "freeze", "node": "node1"}));
    assert!(!client.pings("node1"));
    let length = |client: &mut Client| client.ask(json!({"do": "output", "program": beat}))["end"].clone();
    let frozen = length(&mut client);
    client.run(0, "sleep 0.3");
    assert_eq!(length(&mut client), frozen, "a program of a frozen node stands still");
    let message = client.refused(json!({"do": "start", "node": 1, "command": "true"}));
    assert_eq!(message, "found the frozen node 1, allowed: a node after thaw");
    client.ask(json!({"do": "thaw", "node": 1}));
    assert!(client.pings("node3"));
    assert_ne!(length(&mut client), frozen);

    let path = folder.path().join("x.pcapng").display().to_string();
    client.ask(json!({"do": "capture", "file": path}));
    assert!(client.pings("node1"));
    assert!(std::fs::metadata(&path).unwrap().len() > 1000);
    drop(client.requests.take());
    let result = client.read();
    assert_eq!(result["event"], "result", "the end of the requests ends the emulation");
    assert!(client.child.wait().unwrap().success());
    let again = super::multihop(&folder, &["run", "x.toml", "--replay", "rec", "--json"]);
    assert_eq!(super::code(&again), 0, "{}", super::stderr(&again));
    let replayed = super::json(super::stdout(&again));
    assert_eq!(replayed["links"], result["result"]["links"], "the replay has the same changes");
}

#[test]
fn wrong_requests_are_refused_and_the_emulation_goes_on() {
    let folder = folder("control-wrong", CHAIN);
    if !is_possible(&folder, &[]) {
        return;
    }
    let mut client = Client::start(&folder, &["-"]);
    client.write("nonsense");
    let reply = client.read();
    assert!(reply["error"].as_str().unwrap().starts_with("found a line that is not JSON"), "{reply}");
    client.write(&"x".repeat(2 << 20));
    assert_eq!(client.read()["error"], "found a longer line, allowed: at most 1048576 bytes");
    let fifo = folder.path().join("fifo").display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    assert!(
        client.refused(json!({"do": "capture", "file": fifo})).contains("No such device"),
        "nobody reads it"
    );
    for (request, message) in [
        (json!({"do": "fly"}), "do: found \"fly\", allowed: start, wait, "),
        (
            json!({"do": "cut", "link": [0, 7]}),
            "cut: found node \"7\", allowed: 0 to 1, or a name: node0, node1",
        ),
        (
            json!({"do": "cut", "link": [1, 1]}),
            "found a link from node 1 to itself, allowed: two different nodes",
        ),
        (json!({"do": "loss", "chance": 2}), "found a chance of 2, allowed: 0 to 1"),
        (
            json!({"do": "wait", "program": 0}),
            "found program 0, allowed: none, because none has been started",
        ),
        (
            json!({"do": "start", "node": 0, "command": ["/no/such"]}),
            "cannot start the program: No such file",
        ),
        (json!({"do": "output", "program": 5}), "found program 5, allowed: 0 to 0"),
        (json!({"do": "capture", "file": "/no/such/file"}), "cannot write /no/such/file: No such file"),
    ] {
        let found = client.refused(request);
        assert!(found.starts_with(message), "{found}");
    }
    // One program writes without end, and the client does not read its output.
    let noise = client.program(1, "yes");
    for id in 0..500 {
        client.write(&json!({"id": id, "do": "output", "program": noise, "from": -100}).to_string());
    }
    for id in 0..500 {
        assert_eq!(client.read()["id"], id);
    }
    client.ask(json!({"do": "signal", "program": noise}));
    client.last = 5000;
    let waits = client.program(0, "sleep 4713");
    client.write(&json!({"id": 1, "do": "wait", "program": waits}).to_string());
    client.ask(json!({"do": "end"}));
    assert_eq!(client.read(), json!({"id": 1, "error": "the emulation has ended"}));
    assert_eq!(client.read()["event"], "result");
}

/// Kills a new emulation after this many milliseconds; returns its process number.
fn killed_after(folder: &Folder, millis: u64, marker: &str) -> u32 {
    let mut command = command(folder, &["emulate", "x.toml", "--control"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let start =
        json!({"do": "start", "node": 1, "command": format!("setsid sleep {marker} & sleep {marker}")});
    writeln!(child.stdin.as_mut().unwrap(), "{start}").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(millis));
    child.kill().unwrap();
    child.wait().unwrap();
    child.id()
}

fn nothing_is_left_of_killed_emulations(name: &str, starts: u64) {
    let folder = folder(name, CHAIN);
    if !is_possible(&folder, &[]) {
        return;
    }
    let marker = format!("98{}", std::process::id());
    for n in 0..starts {
        // The instants are spread over the start, which takes some 100 ms, and over the time after it.
        killed_after(&folder, n * 7919 % 400, &marker);
        until("the end of everything", || !runs(&marker));
    }
}

#[test]
fn nothing_is_left_of_an_emulation_that_is_killed_at_any_time() {
    nothing_is_left_of_killed_emulations("control-kill", 8);
}

#[test]
#[ignore = "takes a minute"]
fn nothing_is_left_of_100_emulations_that_are_killed_at_any_time() {
    nothing_is_left_of_killed_emulations("control-kill-100", 100);
}

#[test]
fn an_emulation_ends_with_the_process_that_started_it() {
    let folder = folder("control-parent", CHAIN);
    if !is_possible(&folder, &[]) {
        return;
    }
    // The shell is killed; another process still holds the other ends of the streams.
    let multihop = env!("CARGO_BIN_EXE_multihop");
    let line = format!("exec 3<&0; {multihop} emulate x.toml --control <&3 & echo $!; wait");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &line]).current_dir(folder.path());
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines().map_while(Result::ok);
    let pid = lines.next().unwrap();
    assert!(lines.next().unwrap().contains("ready"));
    shell.kill().unwrap();
    shell.wait().unwrap();
    let process = std::path::PathBuf::from(format!("/proc/{pid}"));
    until("the end of the emulation", || {
        // A process for which nobody waits remains as a zombie.
        let state = std::fs::read_to_string(process.join("status")).unwrap_or_default();
        state.is_empty() || state.contains("State:\tZ")
    });
}
