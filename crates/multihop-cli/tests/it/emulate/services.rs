//! Real programs: ssh, a web server, iperf3, tshark.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::{Background, CHAIN, code, command, folder, is_possible, json, ran, stderr, stdout, until};
use crate::Folder;

fn program(node: u32, line: &str) -> String {
    format!("[[program]]\nnode = {node}\ncommand = \"\"\"{line}\"\"\"\n")
}

#[test]
fn a_shell_opens_over_ssh() {
    // The path of sshd must be absolute.
    let server = "mkdir -p /run/sshd; exec $(command -v sshd) -D -e -f sshd.conf";
    let client = "for try in $(seq 50); do\n\
                  ssh -tt -F none -i key -p 2222 -o BatchMode=yes -o StrictHostKeyChecking=no \
                  -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR node2 <typed.txt && exit 0\nsleep 0.1\ndone\nexit 1\n";
    let here = folder("emulate-ssh", &format!("{CHAIN}{}", program(2, server)));
    let settings = format!(
        "Port 2222\nHostKey {0}/host_key\nAuthorizedKeysFile {0}/key.pub\nStrictModes no\nUsePAM no\n\
         PidFile none\nPermitRootLogin yes\nPrintMotd no\nPrintLastLog no\n",
        here.path().display()
    );
    let here = here
        .with("sshd.conf", &settings)
        .with("client.sh", client)
        .with("typed.txt", "echo answer $((6 * 7)) from $(hostname -I || ip -4 addr)\nexit\n");
    if !is_possible(&here, &["sshd", "ssh", "ssh-keygen"]) {
        return;
    }
    for key in ["key", "host_key"] {
        let mut make = Command::new("ssh-keygen");
        make.args(["-q", "-t", "ed25519", "-N", "", "-f", key]).current_dir(here.path());
        assert!(make.status().unwrap().success());
    }
    let done = ran(&here, &["emulate", "x.toml", "--out", "out", "--", "sh", "client.sh"]);
    let (text, log) = (stdout(&done), here.read("out/program-0.txt"));
    assert_eq!(code(&done), 0, "{text}{}{log}", stderr(&done));
    assert!(text.contains("answer 42 from ") && text.contains("10.0.0.3"), "{text}{log}");
}

#[test]
fn curl_loads_a_page_from_nginx() {
    let settings = "daemon off; pid nginx.pid; error_log stderr; worker_processes 1;\n\
                    events { worker_connections 16; }\n\
                    http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;\n\
                    uwsgi_temp_path t4; scgi_temp_path t5; server { listen 8080; listen [::]:8080; root www; } }\n";
    let server = "exec nginx -p \"$PWD/\" -c nginx.conf -e stderr";
    let fetch = "for name in node3 ip6-node3; do\n\
                 curl -s -S --retry 20 --retry-delay 0 --retry-connrefused --max-time 15 -o $name http://$name:8080/page\n\
                 cmp $name www/page\ndone\n";
    let folder = folder("emulate-nginx", &format!("{CHAIN}{}", program(3, server)))
        .with("nginx.conf", settings)
        .with("fetch.sh", fetch);
    std::fs::create_dir(folder.path().join("www")).unwrap();
    let folder = folder.with("www/page", &"a line of text\n".repeat(2000));
    // The workers of a server that root starts have another user.
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    if !is_possible(&folder, &["nginx", "curl", "cmp"]) {
        return;
    }
    let done = ran(&folder, &["emulate", "x.toml", "--out", "out", "--", "sh", "-e", "fetch.sh"]);
    assert_eq!(code(&done), 0, "{}{}", stderr(&done), folder.read("out/program-0.txt"));
}

#[test]
fn iperf3_measures_datagrams() {
    let folder = folder("emulate-iperf3", &format!("{CHAIN}{}", program(3, "exec iperf3 -s")));
    if !is_possible(&folder, &["iperf3"]) {
        return;
    }
    let client = "for try in $(seq 50); do\n\
                  iperf3 -c node3 -u -b 200k -l 1000 -t 2 --json >measured.json && exit 0\nsleep 0.1\ndone\nexit 1\n";
    let folder = folder.with("client.sh", client);
    let done = ran(&folder, &["emulate", "x.toml", "--out", "out", "--", "sh", "client.sh"]);
    assert_eq!(code(&done), 0, "{}{}", stderr(&done), folder.read("measured.json"));
    let sum = &json(&folder.read("measured.json"))["end"]["sum"];
    // 200 kb/s is half of what the chain carries.
    let (lost, packets) = (sum["lost_percent"].as_f64().unwrap(), sum["packets"].as_u64().unwrap());
    assert!(lost < 10.0 && packets >= 40, "{sum}");
}

/// Runs tshark on its standard input; returns the lines that it prints.
fn tshark(folder: &Folder, arguments: &[&str], from: Stdio) -> String {
    let mut reader = Command::new("tshark");
    reader.args(["-n", "-l"]).args(arguments).current_dir(folder.path()).stdin(from);
    let read = reader.output().unwrap();
    assert!(read.status.success(), "{}", stderr(&read));
    stdout(&read).to_owned()
}

#[test]
fn tshark_shows_the_frames_while_they_are_sent() {
    let folder = folder("emulate-tshark", CHAIN);
    if !is_possible(&folder, &["ping", "tshark", "dumpcap"]) {
        return;
    }
    let ping = ["--", "ping", "-n", "-c", "5", "-i", "0.2", "10.0.0.4"];
    let mut emulate = command(&folder, &[&["emulate", "x.toml", "--pcap", "-"][..], &ping].concat());
    let mut emulation = emulate.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let frames = emulation.stdout.take().unwrap();
    let fields = ["-Y", "icmp", "-T", "fields", "-e", "ip.ttl", "-e", "icmp.type"];
    let text = tshark(&folder, &[&["-i", "-"][..], &fields].concat(), frames.into());
    assert!(emulation.wait().unwrap().success());
    // Request and reply of each ping, each at both ends of three hops.
    for line in ["64\t8", "63\t8", "62\t8", "64\t0", "63\t0", "62\t0"] {
        let count = text.lines().filter(|other| *other == line).count();
        assert!(count >= 5, "{count} of {line:?} in {text}");
    }
}

#[test]
fn extcap_shows_an_emulation_and_its_frames_as_wireshark_asks_for_them() {
    let folder = folder("emulate-extcap", CHAIN);
    if !is_possible(&folder, &["ping", "tshark", "mkfifo"]) {
        return;
    }
    let ping = ["--", "ping", "-n", "-i", "0.1", "10.0.0.4"];
    let emulation = Background::start(&folder, &[&["emulate", "x.toml"][..], &ping].concat());
    let name = format!("multihop-{}", emulation.0.id());
    until("the interface", || {
        let listed = ran(&folder, &["extcap", "--extcap-interfaces", "--extcap-version=4.0"]);
        assert!(stdout(&listed).starts_with("extcap {version="), "{}", stderr(&listed));
        stdout(&listed).contains(&format!("interface {{value={name}}}{{display=Emulation of emulated}}\n"))
    });
    let of = |question: &str| ran(&folder, &["extcap", "--extcap-interface", &name, question]);
    let types = "dlt {number=127}{name=IEEE802_11_RADIO}{display=802.11 with radiotap}\n";
    assert_eq!(stdout(&of("--extcap-dlts")), types);
    assert_eq!((code(&of("--extcap-config")), stdout(&of("--extcap-config"))), (0, ""));

    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    let capture = ["extcap", "--capture", "--extcap-interface", &name, "--fifo", "pipe"];
    let _copies = Background::start(&folder, &capture);
    let fields = ["-c", "40", "-T", "fields", "-e", "wlan.fc.type", "-e", "icmp.type"];
    let text = tshark(&folder, &[&["-i", "pipe"][..], &fields].concat(), Stdio::null());
    // Control frames, and data frames with requests and replies.
    for kind in ["1", "2\t8", "2\t0"] {
        assert!(text.lines().any(|line| line.trim_end() == kind), "{kind:?} in {text}");
    }
    let other = ran(&folder, &["extcap", "--capture", "--extcap-interface", "multihop-1", "--fifo", "pipe"]);
    assert_eq!(code(&other), 2);
    assert!(stderr(&other).starts_with("multihop: found --pid 1, allowed: "), "{}", stderr(&other));
}
