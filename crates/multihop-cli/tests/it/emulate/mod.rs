//! `multihop emulate`, `multihop enter` and replays: real programs over the simulated network.
#![cfg(target_os = "linux")]

mod control;
mod layers;
mod route;
mod services;
mod spread;

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Folder, code, multihop, stderr, stdout};

const CHAIN: &str = "\
name = \"emulated\"
duration = 20.0
[topology]
kind = \"chain\"
hops = 3
[mac]
arp = \"queueing\"
";

const TAP: &str = "[emulation]\ninterface = \"tap\"\n";

/// A program that answers datagrams to port 7000 with their contents.
const ECHO: &str = "\
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((\"\", 7000))
while True:
    data, peer = s.recvfrom(2000)
    s.sendto(data, peer)
";

/// A program that requests echoes from a host until it has received five.
const ASK: &str = "\
import os, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(0.5)
address = socket.gethostbyname(sys.argv[1])
assert address == os.environ[\"ADDRESS_3\"], address
heard = 0
while heard < 5:
    s.sendto(bytes(700), (address, 7000))
    try:
        heard += len(s.recv(2000)) == 700
    except TimeoutError:
        pass
";

pub(super) fn folder(name: &str, scenario: &str) -> Folder {
    Folder::new(name).with("x.toml", scenario).with("echo.py", ECHO).with("ask.py", ASK)
}

pub(super) fn command(folder: &Folder, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
    command.args(args).current_dir(folder.path());
    command
}

/// Runs the command inside the folder.
pub(super) fn ran(folder: &Folder, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

/// Whether this machine allows emulations with these tools.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
pub(super) fn is_possible(folder: &Folder, tools: &[&str]) -> bool {
    for tool in tools {
        let found = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().unwrap();
        if !found.status.success() {
            println!("skipped: {tool} is not installed");
            return false;
        }
    }
    let tried = ran(folder, &["emulate", "x.toml", "--", "true"]);
    let refused = [
        "cannot make a network namespace",
        "cannot make a TUN interface",
        "cannot become root",
        "cannot make a PID",
    ];
    if let Some(line) = stderr(&tried).lines().find(|line| refused.iter().any(|text| line.contains(text))) {
        println!("skipped: {line}");
        return false;
    }
    assert_eq!(code(&tried), 0, "{}", stderr(&tried));
    true
}

pub(super) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Waits until a condition holds; `what` describes it.
pub(super) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process `sleep` with this argument runs.
pub(super) fn runs(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.into_iter().any(|line| {
        let words: Vec<_> = line.split(|&byte| byte == 0).collect();
        words.first() == Some(&&b"sleep"[..]) && words.get(1) == Some(&argument.as_bytes())
    })
}

/// An emulation in the background, which is killed at the end of the test.
pub(super) struct Background(pub(super) Child);

impl Background {
    pub(super) fn start(folder: &Folder, args: &[&str]) -> Self {
        Self::spawned(command(folder, args))
    }

    fn spawned(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // Linux sends SIGHUP to a whole process group that has a stopped member and no shell any more.
        command.process_group(0);
        Self(command.spawn().unwrap())
    }

    pub(super) fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    pub(super) fn output(mut self) -> Output {
        let mut output = Output { status: self.0.wait().unwrap(), stdout: Vec::new(), stderr: Vec::new() };
        std::io::Read::read_to_end(&mut self.0.stdout.take().unwrap(), &mut output.stdout).unwrap();
        std::io::Read::read_to_end(&mut self.0.stderr.take().unwrap(), &mut output.stderr).unwrap();
        output
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn programs_talk_over_three_hops_and_a_replay_repeats_it() {
    let program = "[[program]]\nnode = 3\ncommand = \"echo served >&2; exec python3 echo.py\"\n";
    let folder = folder("emulate-talk", &format!("{CHAIN}{program}"));
    if !is_possible(&folder, &["python3"]) {
        return;
    }
    let outputs = ["--out", "live", "--trace", "--record", "rec", "--json"];
    let args = [&["emulate", "x.toml"][..], &outputs, &["--", "python3", "ask.py", "node3"]].concat();
    let done = ran(&folder, &args);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let result = json(stdout(&done));
    let [server, client] = &result["programs"].as_array().unwrap()[..] else { panic!("{result}") };
    assert_eq!((&client["exit_code"], &client["node"]), (&0.into(), &0.into()));
    assert_eq!((&server["signal"], &server["stopped"]), (&15.into(), &true.into()));
    assert!(result["emulation"]["left"].as_u64().unwrap() >= 10, "{result}");
    assert!(result["emulation"]["deliveries_late_ms"]["p50"].as_f64().unwrap() > 0.0);
    assert_eq!(folder.read("live/program-0.txt"), "served\n");

    let again = multihop(&folder, &["run", "x.toml", "--replay", "rec", "--out", "again", "--trace"]);
    assert_eq!(code(&again), 0, "{}", stderr(&again));
    let trace = folder.read("again/packets.txt");
    assert!(trace.lines().filter(|line| line.contains("\treal\t")).count() >= 10 * 4, "{trace}");
    assert!(trace == folder.read("live/packets.txt"), "the replay differs");

    let page = multihop(&folder, &["view", "rec"]);
    if stderr(&page).contains("built without the page") {
        println!("skipped: the command was built without the page of multihop view");
    } else {
        assert_eq!((code(&page), stdout(&page)), (0, "rec.html: open it in a browser\n"));
        assert!(
            folder.read("rec.html").contains(r#""recording":"bXVsdGlob3AgcmVjb3JkaW5n"#),
            "the recording is inside"
        );
        views_its_folder(&folder);
    }

    let other = multihop(&folder, &["run", "x.toml", "--replay", "rec", "--seed", "2"]);
    assert_eq!(code(&other), 1);
    let message = "multihop: the recording was made with another scenario, seed or --set\n";
    assert_eq!(stderr(&other), message);
}

/// Checks that the page for the folder of an emulation shows its recording, if the folder has exactly one.
fn views_its_folder(folder: &Folder) {
    let place = |name: &str| folder.path().join(name);
    let lacking = multihop(folder, &["view", "live"]);
    assert_eq!(code(&lacking), 2, "{}", stderr(&lacking));
    assert!(
        stderr(&lacking).ends_with("multihop emulate --record live/run.rec writes\n"),
        "{}",
        stderr(&lacking)
    );
    std::fs::copy(place("rec"), place("live/b.rec")).unwrap();
    let viewed = multihop(folder, &["view", "live"]);
    assert_eq!((code(&viewed), stderr(&viewed)), (0, ""));
    assert!(
        folder.read("live/view.html") == folder.read("rec.html"),
        "another page than that of the recording"
    );
    std::fs::copy(place("rec"), place("live/a.rec")).unwrap();
    let several = multihop(folder, &["view", "live"]);
    let message = "multihop: live has 2 recordings: give one of them, such as live/a.rec\n";
    assert_eq!((code(&several), stderr(&several)), (2, message));
}

#[test]
fn tcp_of_the_kernel_crosses_two_hops() {
    let server = "import socket\ns = socket.create_server((\"\", 7000))\nc, _ = s.accept()\n\
                  n = 0\nwhile data := c.recv(65536): n += len(data)\nassert n == 200000, n\nprint(\"all\")\n";
    let client = "import os, socket, time\nwhile True:\n    try:\n        s = socket.create_connection((os.environ[\"ADDRESS_2\"], 7000), 2)\n        break\n    \
                  except OSError: time.sleep(0.1)\ns.settimeout(None)\ns.sendall(bytes(200000))\ns.shutdown(1)\ns.recv(1)\n";
    let program = "[[program]]\nnode = 2\ncommand = \"python3 server.py\"\n";
    let folder = folder("emulate-tcp", &format!("{CHAIN}{program}"))
        .with("server.py", server)
        .with("client.py", client);
    if !is_possible(&folder, &["python3"]) {
        return;
    }
    let done = ran(&folder, &["emulate", "x.toml", "--out", "out", "--", "python3", "client.py"]);
    assert_eq!(code(&done), 0, "{}{}", stdout(&done), stderr(&done));
    assert_eq!(folder.read("out/program-0.txt"), "all\n");
    assert!(stdout(&done).contains("node 0: python3 client.py: exit code 0\n"), "{}", stdout(&done));
}

#[test]
fn traceroute_shows_every_router() {
    let folder = folder("emulate-traceroute", CHAIN);
    if !is_possible(&folder, &["traceroute"]) {
        return;
    }
    let done =
        ran(&folder, &["emulate", "x.toml", "--", "traceroute", "-n", "-q", "2", "-N", "1", "10.0.0.4"]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let routers = stdout(&done).lines().filter_map(|line| line.split_whitespace().nth(1)).take(4);
    assert_eq!(
        routers.skip(1).collect::<Vec<_>>(),
        ["10.0.0.2", "10.0.0.3", "10.0.0.4"],
        "{}",
        stdout(&done)
    );
}

#[test]
fn a_program_hears_that_a_node_is_unreachable() {
    let apart = "duration = 20.0\n[topology]\nkind = \"list\"\npositions = [[0, 0], [200, 0], [900, 0]]\n";
    let program = "import errno, socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                   s.setsockopt(socket.IPPROTO_IP, 11, 1)  # IP_RECVERR\ns.connect((\"10.0.0.3\", 7000))\ns.settimeout(5)\ns.send(b\"x\")\n\
                   try: s.recv(10)\nexcept OSError as e: assert e.errno == errno.EHOSTUNREACH, e\nelse: assert False\n";
    let folder = folder("emulate-unreachable", apart).with("program.py", program);
    if !is_possible(&folder, &["python3"]) {
        return;
    }
    let done = ran(&folder, &["emulate", "x.toml", "--", "python3", "program.py"]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
}

#[test]
fn broadcasts_reach_programs_at_the_neighbours() {
    let listen = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind((\"\", 7000))\n\
                  print(*s.recvfrom(10), flush=True)\n";
    let call = "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)\n\
                for n in range(20):\n    s.sendto(b\"hello\", (\"10.0.0.255\", 7000))\n    time.sleep(0.1)\n";
    let programs: String =
        [1, 2].map(|n| format!("[[program]]\nnode = {n}\ncommand = \"python3 listen.py\"\n")).concat();
    let folder = folder("emulate-broadcast", &format!("{CHAIN}{programs}"))
        .with("listen.py", listen)
        .with("call.py", call);
    if !is_possible(&folder, &["python3"]) {
        return;
    }
    let done = ran(&folder, &["emulate", "x.toml", "--out", "out", "--", "python3", "call.py"]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let port = folder.read("out/program-0.txt");
    assert!(port.starts_with("b'hello' ('10.0.0.1', "), "{port}");
    assert_eq!(folder.read("out/program-1.txt"), "", "two hops away");
}

#[test]
fn a_shell_enters_a_node_of_an_emulation() {
    let folder = folder("emulate-enter", CHAIN);
    if !is_possible(&folder, &[]) {
        return;
    }
    let emulation = Background::start(&folder, &["emulate", "x.toml", "--", "sleep", "971.1"]);
    until("the start", || runs("971.1"));
    let pid = emulation.0.id().to_string();
    let script = "cat /proc/net/fib_trie; cat /etc/hosts; echo $ADDRESS_0";
    let inside = ran(&folder, &["enter", "node2", "--pid", &pid, "--", "sh", "-c", script]);
    assert_eq!(code(&inside), 0, "{}", stderr(&inside));
    let shown = stdout(&inside);
    for expected in ["10.0.0.3\n", "10.0.0.4 node3\n", "\n10.0.0.1\n"] {
        assert!(shown.contains(expected), "{expected:?} in {shown}");
    }
    let elsewhere = ran(&folder, &["enter", "4", "--pid", &pid]);
    let message = "multihop: found node \"4\", allowed: 0 to 3, or a name: node0, node1, node2, node3\n";
    assert_eq!((code(&elsewhere), stderr(&elsewhere)), (2, message));
    emulation.signal("INT");
    let ended = emulation.output();
    assert_eq!(code(&ended), 130, "{}", stderr(&ended));
    assert!(stdout(&ended).contains("sleep 971.1: stopped"), "{}", stdout(&ended));
    assert!(!runs("971.1"));
}

#[test]
fn nothing_survives_an_emulation_that_was_killed() {
    // The second program has left its process group and its session.
    let programs = "[[program]]\nnode = 1\ncommand = \"sleep 972.2\"\n\
                    [[program]]\nnode = 2\ncommand = \"setsid sleep 973.3 & sleep 974.4\"\n";
    let folder = folder("emulate-killed", &format!("{CHAIN}{programs}"));
    if !is_possible(&folder, &["setsid"]) {
        return;
    }
    let arguments = ["972.2", "973.3", "974.4"];
    let emulation = Background::start(&folder, &["emulate", "x.toml"]);
    until("the start", || arguments.iter().all(|argument| runs(argument)));
    emulation.signal("KILL");
    emulation.output();
    until("the end of the programs", || !arguments.iter().any(|argument| runs(argument)));
}

#[test]
fn a_program_that_ignores_sigterm_is_killed_at_the_end() {
    let folder = folder("emulate-stubborn", CHAIN);
    if !is_possible(&folder, &[]) {
        return;
    }
    let script = "trap '' TERM; sleep 976.6; sleep 976.6";
    let emulation = Background::start(&folder, &["emulate", "x.toml", "--", "sh", "-c", script]);
    until("the start", || runs("976.6"));
    emulation.signal("TERM");
    let ended = emulation.output();
    assert_eq!(code(&ended), 143, "{}", stderr(&ended));
    assert!(!runs("976.6"));
}

#[test]
fn an_emulation_under_nohup_outlives_sighup() {
    let folder = folder("emulate-nohup", CHAIN);
    if !is_possible(&folder, &["nohup"]) {
        return;
    }
    let script = "touch begun; until test -e go; do sleep 0.1; done";
    let emulate = command(&folder, &["emulate", "x.toml", "--", "sh", "-c", script]);
    let mut nohup = Command::new("nohup");
    nohup.arg(emulate.get_program()).args(emulate.get_args()).current_dir(folder.path());
    let emulation = Background::spawned(nohup);
    until("the start", || folder.path().join("begun").exists());
    emulation.signal("HUP");
    std::fs::write(folder.path().join("go"), "").unwrap();
    let ended = emulation.output();
    assert_eq!(code(&ended), 0, "{}", stderr(&ended));
}

#[test]
fn a_stopped_emulation_loses_time_and_says_so() {
    let flow = "[[flow]]\ntransport = \"newreno\"\n";
    let folder = folder("emulate-stopped", &format!("{CHAIN}{flow}").replace("20.0", "4.0"));
    if !is_possible(&folder, &[]) {
        return;
    }
    // 99% of the events are in time; only the lost time makes the result invalid.
    let args = ["emulate", "x.toml", "--json", "--late-limit", "5", "--", "sleep", "975.5"];
    let emulation = Background::start(&folder, &args);
    until("the start", || runs("975.5"));
    emulation.signal("STOP");
    std::thread::sleep(Duration::from_secs(1));
    emulation.signal("CONT");
    let ended = emulation.output();
    let result = json(stdout(&ended));
    let (lost, late) = (&result["emulation"]["lost_share"], &result["emulation"]["wakeups_late_ms"]);
    // The network stood still for one of at least five seconds.
    assert!((0.1..0.5).contains(&lost.as_f64().unwrap()), "{result}");
    assert!(late["max"].as_f64().unwrap() > 900.0, "{result}");
    assert_eq!(result["sim_seconds"], 4.0);
    assert_eq!(result["emulation"]["valid"], false);
    assert_eq!(code(&ended), 1);
    let message = "multihop: the result is invalid: more than 1% of the events or packets were later than --late-limit, \
                   or more than 1% of the time was lost\n";
    assert_eq!(stderr(&ended), message);
}

#[test]
fn virtual_time_waits_for_programs_only() {
    let folder = folder("emulate-virtual", CHAIN);
    if !is_possible(&folder, &[]) {
        return;
    }
    let ended = ran(&folder, &["emulate", "x.toml", "--virtual-time", "--json", "--", "sleep", "15"]);
    assert_eq!(code(&ended), 0, "{}", stderr(&ended));
    let result = json(stdout(&ended));
    assert_eq!(result["sim_seconds"], 15.0);
    assert_eq!(result["emulation"]["virtual_time"], true);
    let tap = ["emulate", "x.toml", "--virtual-time", "--set", "emulation.interface=tap", "--", "true"];
    let refused = ran(&folder, &tap);
    assert_eq!(code(&refused), 2);
    let message =
        "found emulation.interface = \"tap\", allowed with --virtual-time: isolated networks with tun";
    assert!(stderr(&refused).contains(message), "{}", stderr(&refused));
}

#[test]
fn what_is_wrong_is_said() {
    let folder = folder("emulate-wrong", CHAIN);
    let no_flows = ran(&folder, &["emulate", "x.toml"]);
    assert_eq!(code(&no_flows), 2);
    let message = "flow: found 0 flows, allowed: 1 to 100000";
    assert!(stderr(&no_flows).contains(message), "{}", stderr(&no_flows));
    let both = ran(&folder, &["emulate", "x.toml", "--json", "--pcap", "-", "--", "true"]);
    assert_eq!(code(&both), 2);
    assert!(stderr(&both).contains("--json and --pcap - both need standard output"), "{}", stderr(&both));
    if !is_possible(&folder, &[]) {
        return;
    }
    let node = ran(&folder, &["emulate", "x.toml", "--node", "nodo", "--", "true"]);
    let message = "multihop: found node \"nodo\", allowed: 0 to 3, or a name: node0, node1, node2, node3\n";
    assert_eq!((code(&node), stderr(&node)), (2, message));
    let missing = ran(&folder, &["emulate", "x.toml", "--", "no-such-program"]);
    assert_eq!(code(&missing), 1);
    assert!(
        stderr(&missing).starts_with("multihop: no-such-program: No such file or directory"),
        "{}",
        stderr(&missing)
    );
    let failed = ran(&folder, &["emulate", "x.toml", "--", "sh", "-c", "exit 3"]);
    assert_eq!((code(&failed), stderr(&failed)), (1, "multihop: sh -c exit 3: exit code 3\n"));
}

#[test]
fn a_capture_comes_out_while_the_emulation_runs() {
    let folder = folder("emulate-capture", CHAIN);
    if !is_possible(&folder, &["ping"]) {
        return;
    }
    let mut emulation =
        Background::start(&folder, &["emulate", "x.toml", "--pcap", "-", "--", "ping", "-n", "10.0.0.2"]);
    let mut out = emulation.0.stdout.take().unwrap();
    let mut bytes = Vec::new();
    // An enhanced packet block (6) with the frame of an echo request: from 10.0.0.1 to 10.0.0.2.
    until("a frame", || {
        let mut part = [0; 512];
        let length = std::io::Read::read(&mut out, &mut part).unwrap();
        bytes.extend_from_slice(&part[..length]);
        bytes.windows(8).any(|window| window == [10, 0, 0, 1, 10, 0, 0, 2])
    });
    assert_eq!(bytes[..4], [0x0a, 0x0d, 0x0d, 0x0a], "the head of pcapng");
}
