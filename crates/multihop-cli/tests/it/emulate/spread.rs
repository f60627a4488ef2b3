//! One file to all nodes of an emulated mesh.

use super::{code, folder, is_possible, json, ran, stderr, stdout};
use crate::multihop;

/// Two hops of 802.11g at 24 Mb/s with two nodes each, where a fifth of all frames is lost.
const LOSSY: &str = "\
name = \"to-all\"
duration = 120.0
topology = { kind = \"list\", positions = [[0, 0], [200, 0], [200, 100], [400, 0], [400, 100]] }
radio = { phy = \"802.11g\", rate = \"24M\", basic_rate = \"24M\", frame_loss = 0.2 }
";

/// Receives at node $1. Node 3 is killed when it has stored a block, and starts again.
const RECEIVE: &str = "\
receive() {
    exec \"$MULTIHOP\" recv --group --to to$1 --key key$1 --peer $(cat post.pub) --shared-key group \
        --interface radio0 --json
}
if [ $1 = 3 ]; then
    receive $1 & pid=$!
    until [ \"$(stat -c %b to3/.*.part 2>/dev/null || echo 0)\" -gt 0 ]; do sleep 0.05; done
    kill -9 $pid; wait $pid; echo killed
fi
receive $1
";

/// Forged datagrams to the group, once node 2 has the offer: the source then still waits for further receivers.
const FORGE: &str = "\
import pathlib, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b\"radio0\")
while not any(pathlib.Path(\"to2\").glob(\".*.part\")):
    time.sleep(0.05)
for _ in range(20):
    s.sendto(bytes([1]) * 200, (\"239.192.74.57\", 7457))
    time.sleep(0.02)
";

#[test]
fn a_file_reaches_all_nodes_although_one_is_killed_and_datagrams_are_forged() {
    let program = |node: u32, line: &str| format!("[[program]]\nnode = {node}\ncommand = \"{line}\"\n");
    let mut scenario = LOSSY.to_owned();
    for node in 1..=4 {
        scenario +=
            &program(node, &format!("MULTIHOP={} sh receive.sh {node}", env!("CARGO_BIN_EXE_multihop")));
    }
    scenario += &program(2, "exec python3 forge.py");
    let here = folder("emulate-to-all", &scenario)
        .with("receive.sh", RECEIVE)
        .with("forge.py", FORGE)
        .with("map", &"a map of hills\n".repeat(50_000));
    if !is_possible(&here, &["python3", "stat"]) {
        return;
    }
    let keygen = |words: &[&str]| stdout(&multihop(&here, &[&["keygen"], words].concat())).trim().to_owned();
    let post = keygen(&["post"]);
    keygen(&["--shared", "group"]);
    let here = here.with("post.pub", &post);
    for node in 1..=4 {
        std::fs::create_dir(here.path().join(format!("to{node}"))).unwrap();
        stdout(&multihop(&here, &["keygen", &format!("key{node}")]));
    }
    let send = "send map --to-all --expect 4 --json --key post --shared-key group --interface radio0";
    let mut words = vec!["emulate", "x.toml", "--out", "out", "--", env!("CARGO_BIN_EXE_multihop")];
    words.extend(send.split(' '));
    let done = ran(&here, &words);
    assert_eq!(code(&done), 0, "{}{}", stdout(&done), stderr(&done));
    let mut forged = 0;
    for node in 1..=4 {
        assert!(here.read(&format!("to{node}/map")) == here.read("map"), "the file of node {node} differs");
        let log = here.read(&format!("out/program-{}.txt", node - 1));
        assert_eq!(log.contains("killed"), node == 3, "{log}");
        let received = log.lines().find(|line| line.contains("\"received\"")).unwrap();
        forged += json(received)["forged"].as_u64().unwrap();
    }
    assert!(forged >= 20, "{forged} forged datagrams were counted");
}
