//! A failure of a real program, debugged in virtual time.
#![cfg(target_os = "linux")]

use super::emulate::{folder, is_possible, json, ran};
use super::{code, multihop, stderr, stdout};

/// The receiver walks out of reach after four seconds.
const WALKS_AWAY: &str = "\
name = \"walks-away\"
duration = 20.0
[topology]
kind = \"chain\"
hops = 1
[mobility]
kind = \"waypoints\"
waypoints = [[], [[4.0, 200.0, 0.0], [4.1, 900.0, 0.0]]]
[mac]
arp = \"queueing\"
[[program]]
node = 1
command = \"exec python3 server.py\"
";

const SERVER: &str = "\
import socket
s = socket.create_server((\"\", 7000))
c, _ = s.accept()
while c.recv(65536): pass
";

/// Four megabytes take half a minute at the rate of the link.
const CLIENT: &str = "\
import os, socket, time
while True:
    try:
        s = socket.create_connection((os.environ[\"ADDRESS_1\"], 7000), 2)
        break
    except OSError: time.sleep(0.1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
s.settimeout(10)
try: s.sendall(bytes(4_000_000))
except TimeoutError: raise SystemExit(\"the transfer failed\")
";

/// Lines of a packet trace: event, time, node and bytes of each packet of a program.
fn packets(trace: &str) -> Vec<(&str, f64, &str, u64)> {
    let lines = trace.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let real = lines.filter(|line| line[4] == "real");
    real.map(|line| (line[0], line[1].parse().unwrap(), line[2], line[10].parse().unwrap())).collect()
}

#[test]
fn a_recorded_transfer_that_failed_fails_again_in_the_simulator() {
    let folder = folder("emulate-fails", WALKS_AWAY).with("server.py", SERVER).with("client.py", CLIENT);
    if !is_possible(&folder, &["python3"]) {
        return;
    }
    let outputs = ["--out", "live", "--trace", "--record", "rec"];
    let args = [&["emulate", "x.toml"][..], &outputs, &["--", "python3", "client.py"]].concat();
    let failed = ran(&folder, &args);
    assert_eq!(code(&failed), 1, "{}", stdout(&failed));
    assert!(stderr(&failed).contains("the transfer failed"), "{}", stderr(&failed));

    let again =
        multihop(&folder, &["run", "x.toml", "--replay", "rec", "--out", "again", "--trace", "--json"]);
    assert_eq!(code(&again), 0, "{}", stderr(&again));
    let trace = folder.read("again/packets.txt");
    assert!(trace == folder.read("live/packets.txt"), "the replay differs");
    // The recording has its scenario.
    let alone = multihop(&folder, &["run", "--replay", "rec", "--out", "alone", "--trace"]);
    assert_eq!(code(&alone), 0, "{}", stderr(&alone));
    assert!(trace == folder.read("alone/packets.txt"), "the replay without a file differs");
    let changed = multihop(&folder, &["run", "--replay", "rec", "--seed", "2"]);
    assert_eq!(code(&changed), 2, "{}", stdout(&changed));
    assert!(stderr(&changed).contains("--set and --seed cannot change them"), "{}", stderr(&changed));
    let found = packets(&trace);
    let data =
        |&&(event, _, node, bytes): &&(&str, f64, &str, u64)| (event, node) == ("r", "1") && bytes > 1000;
    let arrived: Vec<_> = found.iter().filter(data).collect();
    let bytes: u64 = arrived.iter().map(|packet| packet.3).sum();
    assert!((1..4_000_000).contains(&bytes), "{bytes} bytes arrived");
    assert!(arrived.iter().all(|packet| packet.1 < 4.1), "data arrived after the walk");
    let later = found.iter().filter(|packet| packet.0 == "s" && packet.2 == "0" && packet.1 > 4.1).count();
    assert!(later > 0, "the sender tried no more");
    let result = json(stdout(&again));
    assert!(result["mac"]["drops"].as_u64().unwrap() > 0, "the reason: the MAC reached nobody: {result}");
}
