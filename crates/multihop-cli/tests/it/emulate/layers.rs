//! IPv6, long packets, Ethernet frames with kernels that route, full queues, and the way to other networks.

use super::{CHAIN, TAP, code, folder, is_possible, json, multihop, ran, stderr, stdout};

/// Runs the script at node 0, or at the node after it; it must succeed. Returns what it prints.
fn script(name: &str, scenario: &str, tools: &[&str], node: &str, lines: &str) -> Option<String> {
    let folder = folder(name, scenario).with("script.sh", lines);
    if !is_possible(&folder, tools) {
        return None;
    }
    let done = ran(&folder, &["emulate", "x.toml", "--node", node, "--", "sh", "-e", "script.sh"]);
    assert_eq!(code(&done), 0, "{}{}", stdout(&done), stderr(&done));
    Some(stdout(&done).to_owned())
}

/// Checks that the text contains these parts, in any order.
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn ping_and_traceroute_work_over_ipv6() {
    let lines = "ping -6 -n -c 2 -i 0.2 -W 3 ip6-node3\n\
                 test \"$ADDRESS6_3\" = fd00::4\n\
                 traceroute -6 -n -q 1 -N 1 fd00::4\n\
                 ping -6 -n -c 2 -i 0.2 -W 1 ff02::1%radio0\n\
                 ping -6 -n -c 1 -W 3 fd00::99 || echo no answer\n";
    let Some(text) = script("emulate-ipv6", CHAIN, &["ping", "traceroute"], "0", lines) else { return };
    assert_has(&text, &["64 bytes from fd00::4: icmp_seq=2 ttl=62 "]);
    assert_has(&text, &["\n 1  fd00::2  ", "\n 2  fd00::3  ", "\n 3  fd00::4  "]);
    assert_has(&text, &["bytes from fe80::2%radio0: "]);
    assert_has(&text, &["From fd00::1 icmp_seq=1 Destination unreachable: Address unreachable", "no answer"]);
}

#[test]
fn long_packets_are_fragmented_unless_they_forbid_it() {
    let wired = format!("{CHAIN}[emulation]\nmtu = 1300\n[[host]]\ngateway = 0\n");
    // The kernel of the host fragments packets above 1500 bytes, the gateway those above 1300.
    let lines = "ping -4 -n -c 1 -W 3 -M dont -s 1400 node1\n\
                 ping -4 -n -c 1 -W 3 -M dont -s 4000 node1\n\
                 ping -4 -n -c 1 -W 3 -M do -s 1400 node1 || echo refused 4\n\
                 ping -6 -n -c 1 -W 3 -M do -s 1400 ip6-node1 || echo refused 6\n\
                 ping -6 -n -c 1 -W 3 -M dont -s 1400 ip6-node1\n";
    let Some(text) = script("emulate-mtu", &wired, &["ping"], "4", lines) else { return };
    assert_has(&text, &["1408 bytes from 10.0.0.2: icmp_seq=1 ttl=63 ", "4008 bytes from 10.0.0.2: "]);
    assert_has(&text, &["From 10.0.0.1 icmp_seq=1 Frag needed and DF set (mtu = 1300)", "refused 4"]);
    assert_has(&text, &["From fd00::1 icmp_seq=1 Packet too big: mtu=1300", "refused 6"]);
    assert_has(&text, &["1408 bytes from fd00::2: icmp_seq=1 ttl=63 "]);
}

#[test]
fn neighbours_with_ethernet_resolve_addresses_by_themselves() {
    let scenario = format!("{CHAIN}{TAP}");
    let lines = "ping -n -c 2 -i 0.2 -W 3 node1\n\
                 ping -n -c 2 -i 0.2 -W 3 ip6-node1\n\
                 cat /proc/net/arp\n\
                 ping -n -c 1 -W 5 node2 || echo two hops away\n";
    let Some(text) = script("emulate-tap", &scenario, &["ping"], "0", lines) else { return };
    assert_has(
        &text,
        &["64 bytes from 10.0.0.2: icmp_seq=2 ttl=64 ", "64 bytes from fd00::2: icmp_seq=2 ttl=64 "],
    );
    assert_has(&text, &["02:00:00:00:00:01"]);
    assert_has(&text, &["two hops away"]);
}

#[test]
fn babeld_routes_over_four_hops() {
    let network = "duration = 60.0\nradio.rate = \"11M\"\n[topology]\nkind = \"chain\"\nhops = 4\n";
    let daemon = |node: u32| {
        let interface = "interface radio0 type wireless hello-interval 0.5";
        format!(
            "[[program]]\nnode = {node}\ncommand = \"rm -f babel-{node}.pid; exec babeld -g 33123 -I babel-{node}.pid \
             -S babel-{node}.state -C '{interface}'\"\n"
        )
    };
    let daemons: String = (0..5).map(daemon).collect();
    let lines = "until ping -n -c 1 -W 1 node4 >first.txt; do sleep 0.2; done\n\
                 ping -n -c 3 -i 0.2 -W 3 node4\n\
                 traceroute -n -q 2 -N 1 10.0.0.5\n\
                 python3 neighbours.py\n";
    let ask = "import socket, time\n\
               s = socket.create_connection((\"::1\", 33123))\ns.sendall(b\"dump\\n\")\ntext = \"\"\n\
               while text.count(\"\\nok\") < 2: text += s.recv(4096).decode()\n\
               print(*(line for line in text.splitlines() if \"add neighbour\" in line), sep=\"\\n\")\n";
    let folder = folder("emulate-babel", &format!("{network}{TAP}{daemons}"))
        .with("script.sh", lines)
        .with("neighbours.py", ask);
    if !is_possible(&folder, &["babeld", "ping", "traceroute", "python3"]) {
        return;
    }
    // The daemons' own diagnostics go to files.
    let done = ran(&folder, &["emulate", "x.toml", "--out", "out", "--", "sh", "-e", "script.sh"]);
    let text = stdout(&done);
    assert_eq!(code(&done), 0, "{text}{}{}", stderr(&done), folder.read("out/program-0.txt"));
    assert_has(text, &["64 bytes from 10.0.0.5: icmp_seq=3 ttl=61 "]);
    assert_has(text, &["\n 1  10.0.0.2 ", "\n 2  10.0.0.3 ", "\n 3  10.0.0.4 ", "\n 4  10.0.0.5 "]);
    let neighbours: Vec<_> = text.lines().filter(|line| line.starts_with("add neighbour")).collect();
    assert_eq!(neighbours.len(), 1, "{text}");
    assert!(neighbours[0].contains("address fe80::ff:fe00:1 if radio0 reach "), "{text}");
}

#[test]
fn a_full_queue_drops_packets_or_leaves_them_in_the_kernel() {
    let flood = "import os, socket, time\n\
                 s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nend = time.monotonic() + 1.5\n\
                 while time.monotonic() < end:\n    s.sendto(bytes(1000), (os.environ[\"ADDRESS_1\"], 7000))\n    time.sleep(0.0005)\n\
                 text = next(line for line in open(\"/proc/net/dev\") if \"radio0\" in line)\n\
                 print(\"dropped\", text.split()[12])\n";
    for back_pressure in [false, true] {
        let scenario = format!("{CHAIN}[emulation]\nback_pressure = {back_pressure}\n");
        let folder = folder(&format!("emulate-full-{back_pressure}"), &scenario).with("flood.py", flood);
        if !is_possible(&folder, &["python3"]) {
            return;
        }
        let done = ran(&folder, &["emulate", "x.toml", "--json", "--", "python3", "flood.py"]);
        assert_eq!(code(&done), 0, "{}", stderr(&done));
        let full = json(stdout(&done))["drops"]["queue-full"].as_u64().unwrap_or(0);
        let line = stderr(&done).lines().find_map(|line| line.strip_prefix("dropped "));
        let by_kernel: u64 = line.unwrap().parse().unwrap();
        // One hop carries fewer than 200 of the 1000 to 3000 packets per second.
        assert_eq!((full > 100, by_kernel > 100), (!back_pressure, back_pressure), "{full} {by_kernel}");
    }
}

#[test]
fn simulated_flows_and_programs_share_the_network() {
    let flow = "[[flow]]\ntransport = \"newreno\"\nfrom = 0\nto = 3\n";
    let program = "[[program]]\nnode = 3\ncommand = \"ping -n -i 0.2 -c 5 -W 5 node0\"\n";
    let folder = folder("emulate-mixed", &format!("{CHAIN}{flow}{program}"));
    if !is_possible(&folder, &["ping"]) {
        return;
    }
    let done = ran(&folder, &["emulate", "x.toml", "--set", "duration=4", "--out", "out", "--json"]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let result = json(stdout(&done));
    assert!(result["flows"][0]["goodput_kbps"].as_f64().unwrap() > 100.0, "{result}");
    let text = folder.read("out/program-0.txt");
    assert!(text.contains("64 bytes from 10.0.0.1"), "{text}");
    assert!(result["emulation"]["left"].as_u64().unwrap() >= 2, "{result}");
}

/// Runs the emulation in a separate network namespace with a veth to another one, 192.0.2.2, where a program
/// answers.
const LAB: &str = "\
ip link set lo up
unshare -n sleep 60 &
lab=$!
until [ \"$(readlink /proc/$lab/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ]; do sleep 0.05; done
trap 'kill $lab' EXIT
inside=\"nsenter -t $lab -n\"
ip link add lab0 type veth peer name lab1 netns $lab
ip addr add 192.0.2.1/24 dev lab0
ip link set lab0 up
$inside ip addr add 192.0.2.2/24 dev lab1
$inside ip link set lab1 up
$inside ip route add 10.0.0.0/24 via 192.0.2.1
echo 1 >/proc/sys/net/ipv4/ip_forward
$MULTIHOP emulate x.toml -- ping -n -c 3 -i 0.2 -W 3 192.0.2.2
if ip link show mesh0; then exit 9; fi
";

#[test]
fn a_gateway_leads_to_the_networks_of_the_machine() {
    let scenario = format!("{CHAIN}[emulation]\ngateway = 2\n");
    let folder = folder("emulate-gateway", &scenario).with("lab.sh", LAB);
    if !is_possible(&folder, &["ip", "unshare", "nsenter", "ping"]) {
        return;
    }
    let mut command = std::process::Command::new("unshare");
    command.args(["-U", "-r", "-n", "-m", "--", "sh", "-e", "lab.sh"]).current_dir(folder.path());
    command.env("MULTIHOP", env!("CARGO_BIN_EXE_multihop"));
    let done = command.output().unwrap();
    let (out, err) = (stdout(&done), stderr(&done));
    if err.contains("unshare: ") {
        println!("skipped: {}", err.trim());
        return;
    }
    assert_eq!(code(&done), 0, "{out}{err}");
    // Two hops and the gateway's kernel.
    assert_has(out, &["64 bytes from 192.0.2.2: icmp_seq=3 ttl=62 "]);
}

/// Two nodes with two radios on separate channels.
const TWO_RADIOS: &str = "\
duration = 20.0
warmup = 0.0
[topology]
kind = \"chain\"
hops = 1
[[radio]]
channel = 1
[[radio]]
channel = 11
[emulation]
interface = \"tap\"
";

#[test]
fn each_radio_of_a_node_has_a_tap_interface() {
    let lines = "ping -4 -n -c 3 -i 0.2 -W 3 -I radio0 10.0.0.2\n\
                 ping -4 -n -c 5 -i 0.2 -W 3 -I radio1 10.0.1.2\n\
                 ping -6 -n -c 2 -i 0.2 -W 3 -I radio1 fd00:0:0:1::2\n\
                 grep radio /proc/net/arp\n";
    let folder = folder("emulate-radios", TWO_RADIOS).with("script.sh", lines);
    if !is_possible(&folder, &["ping", "grep"]) {
        return;
    }
    let outputs = ["--out", "live", "--trace", "--record", "rec", "--json"];
    let args = [&["emulate", "x.toml"][..], &outputs, &["--", "sh", "-e", "script.sh"]].concat();
    let done = ran(&folder, &args);
    // With --json, programs write to standard error.
    let text = stderr(&done);
    assert_eq!(code(&done), 0, "{text}");
    assert_has(
        text,
        &["64 bytes from 10.0.0.2: icmp_seq=3 ttl=64 ", "64 bytes from 10.0.1.2: icmp_seq=5 ttl=64 "],
    );
    assert_has(text, &["64 bytes from fd00:0:0:1::2: icmp_seq=2 ttl=64 "]);
    assert_has(text, &["02:00:00:00:00:01     *        radio0", "02:00:00:00:01:01     *        radio1"]);
    let result = json(stdout(&done));
    let nodes = result["nodes"].as_array().unwrap().iter();
    let delivered = nodes.map(|node| ["radio", "id", "delivered"].map(|key| node[key].as_u64().unwrap()));
    let delivered: Vec<_> = delivered.collect();
    let [[0, 0, first], [0, 1, _], [1, 0, second], [1, 1, _]] = delivered[..] else { panic!("{result}") };
    // The counter may include answers to address resolution besides echo requests.
    assert!((3..7).contains(&first) && (7..15).contains(&second), "{delivered:?}");

    let again =
        multihop(&folder, &["run", "x.toml", "--replay", "rec", "--out", "again", "--trace", "--json"]);
    assert_eq!(code(&again), 0, "{}", stderr(&again));
    assert_eq!(json(stdout(&again))["nodes"], result["nodes"]);
    assert!(folder.read("again/packets.txt") == folder.read("live/packets.txt"), "the replay differs");
}
