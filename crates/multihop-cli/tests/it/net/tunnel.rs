//! `multihop tunnel` with programs that are unaware of it.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::thread;

use multihop_testkit::impaired::{Chain, Relay, Settings};

use super::*;
use crate::{code, multihop, stderr, stdout};

/// A gateway, the near end of a tunnel to it, and a relay between them.
struct Tunnel {
    _gateway: Running,
    near: Running,
    relay: Relay,
    /// Where the near end takes connections.
    local: String,
}

impl Tunnel {
    fn new(folder: &Folder, entrance: &[&str], allow: &str, settings: Settings) -> Self {
        let mut gateway = Running::new(folder, &["tunnel", "--listen", "127.0.0.1:0", "--allow", allow]);
        let any = "127.0.0.1:0".parse().unwrap();
        let relay = Relay::start(any, gateway.address().parse().unwrap(), settings, 1).unwrap();
        let token = gateway.line().strip_prefix("token: ").unwrap().to_owned();
        let to = relay.address().to_string();
        let mut near = Running::new(folder, &[&["tunnel", &to, "--token", &token], entrance].concat());
        let local = near.line().split(' ').next().unwrap().to_owned();
        Self { _gateway: gateway, near, relay, local }
    }
}

/// Serves a folder by HTTP with its own configuration, without privileges.
fn nginx(folder: &Folder) -> Option<(Running, u16)> {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let here = folder.path().display();
    let configuration = format!(
        "daemon off; master_process off; pid {here}/pid; error_log stderr;
         events {{}}
         http {{
             access_log off;
             client_body_temp_path {here}/t1; proxy_temp_path {here}/t2; fastcgi_temp_path {here}/t3;
             uwsgi_temp_path {here}/t4; scgi_temp_path {here}/t5;
             server {{ listen 127.0.0.1:{port}; root {here}; }}
         }}"
    );
    fs::write(folder.path().join("nginx.conf"), configuration).unwrap();
    let file = folder.path().join("nginx.conf");
    let mut command = Command::new(program("nginx")?);
    let running = Running::of(command.args(["-e", "stderr", "-c"]).arg(file), folder);
    // The program listens before it writes this file.
    until(|| folder.path().join("pid").exists());
    Some((running, port))
}

/// The path of an installed program.
fn program(name: &str) -> Option<String> {
    let folders = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let mut found = folders.split(':').map(|folder| format!("{folder}/{name}"));
    found.find(|path| fs::metadata(path).is_ok())
}

/// Fetches a large file with curl while the path is cut in the middle; returns the duration, `None` if a program
/// is missing.
fn fetch(size: usize, cut: Duration) -> Option<Duration> {
    let folder = Folder::new("curl");
    let (_web, port) = nginx(&folder)?;
    let curl = program("curl")?;
    let contents: Vec<u8> = (0..size).map(|n| (n ^ (n >> 8) ^ (n >> 16)).to_le_bytes()[0]).collect();
    fs::write(folder.path().join("large"), &contents).unwrap();
    // Slow enough to be cut in the middle.
    let rate = Some(80_000_000);
    let tunnel =
        Tunnel::new(&folder, &["--socks", "0"], "localhost:*", Settings { rate, ..Settings::default() });
    let begin = Instant::now();
    let url = format!("http://localhost:{port}/large");
    let args = ["-s", "-S", "--socks5-hostname", &tunnel.local, "-o", "got", &url];
    let mut client = Running::of(Command::new(curl).args(args), &folder);
    let got = folder.path().join("got");
    until(|| fs::metadata(&got).is_ok_and(|got| got.len() > size as u64 / 3));
    tunnel.relay.silence(cut);
    let said = client.end(SOON + cut);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    assert!(fs::read(got).unwrap() == contents);
    let took = begin.elapsed();
    assert!(took > cut);
    Some(took)
}

#[test]
fn a_gateway_prints_a_command_for_what_it_permits() {
    let folder = Folder::new("tunnel-command");
    let listen = ["tunnel", "--listen", "127.0.0.1:0", "--allow", "localhost:*"];
    let mut gateway = Running::new(&folder, &listen);
    let to = gateway.address();
    let token = gateway.line().strip_prefix("token: ").unwrap().to_owned();
    let command = gateway.advice();
    assert_eq!(command, format!("multihop tunnel {to} --token {token} --socks 1080"));
    let command = command.replace("1080", "0");
    let mut near = Running::new(&folder, &command.split(' ').skip(1).collect::<Vec<_>>());
    assert!(near.line().ends_with(&format!(" -> SOCKS5 via {to}")));
    let mut plain = Running::new(&folder, &[&listen[..], &["--plain"]].concat());
    let to = plain.address();
    assert_eq!(plain.advice(), format!("multihop tunnel {to} --plain --socks 1080"));
}

#[test]
fn curl_fetches_a_file_though_the_path_is_cut() {
    match fetch(20_000_000, Duration::from_secs(2)) {
        Some(took) => println!("20 MB, 2 s of them without a path, took {took:.1?}"),
        None => println!("skipped: nginx or curl is not installed"),
    }
}

#[test]
#[ignore = "takes half a minute: cargo test -p multihop-cli -- --ignored --nocapture curl"]
fn curl_fetches_a_larger_file_though_the_path_is_cut_for_long() {
    match fetch(50_000_000, Duration::from_secs(20)) {
        Some(took) => println!("50 MB, 20 s of them without a path, took {took:.1?}"),
        None => println!("skipped: nginx or curl is not installed"),
    }
}

#[test]
fn a_quiet_near_end_says_nothing_and_works() {
    let folder = Folder::new("quiet");
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut gateway = Running::new(
        &folder,
        &["tunnel", "--listen", "127.0.0.1:0", "--allow", "localhost:*", "--plain", "-q"],
    );
    let to = gateway.address();
    // A port that was free a moment ago.
    let local = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let forward = format!("{local}:{}", target.local_addr().unwrap());
    let mut near = Running::new(&folder, &["tunnel", &to, "--plain", "--forward", &forward, "--quiet"]);
    let mut caller = None;
    until(|| {
        caller = TcpStream::connect(local).ok();
        caller.is_some()
    });
    let (mut far, _) = target.accept().unwrap();
    far.write_all(b"x").unwrap();
    let mut byte = [0];
    caller.unwrap().read_exact(&mut byte).unwrap();
    near.interrupt();
    assert_eq!(near.end(SOON).stdout, "");
}

/// The near end has given up its rights when it meets the gateway, and may create no file.
#[test]
fn a_gateway_that_is_met_for_the_first_time_becomes_known() {
    let folder = Folder::new("first-contact");
    let [gateway_key, near_key] =
        ["gateway", "near"].map(|name| stdout(&multihop(&folder, &["keygen", name])).trim().to_owned());
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = ["tunnel", "--listen", "127.0.0.1:0", "--allow", "localhost:*", "--key", "gateway"];
    let mut gateway = Running::new(&folder, &[&listen[..], &["--peer", &near_key]].concat());
    let to = gateway.address();
    let forward = format!("0:{}", target.local_addr().unwrap());
    let entrance = ["tunnel", &to, "--key", "near", "--known-peers", "known", "--forward", &forward];
    let mut near = Running::new(&folder, &entrance);
    let local = near.line().split(' ').next().unwrap().to_owned();
    for _ in 0..2 {
        let mut caller = TcpStream::connect(&local).unwrap();
        let (mut far, _) = target.accept().unwrap();
        far.write_all(b"x").unwrap();
        let mut byte = [0];
        caller.read_exact(&mut byte).unwrap();
    }
    assert_eq!(folder.read("known"), format!("{to} {gateway_key}\n"));
}

#[test]
fn a_key_stroke_is_echoed_soon() {
    let folder = Folder::new("echo");
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = format!("0:{}", target.local_addr().unwrap());
    let delay = Settings { delay: multihop_core::Duration::from_millis(10), ..Settings::default() };
    let tunnel = Tunnel::new(&folder, &["--forward", &there], "localhost:*", delay);
    let mut near = TcpStream::connect(&tunnel.local).unwrap();
    near.set_nodelay(true).unwrap();
    let (mut far, _) = target.accept().unwrap();
    far.set_nodelay(true).unwrap();
    thread::spawn(move || {
        let mut byte = [0];
        while far.read_exact(&mut byte).is_ok() {
            far.write_all(&byte).unwrap();
        }
    });
    let mut times: Vec<Duration> = (0..100_u8)
        .map(|key| {
            let begin = Instant::now();
            near.write_all(&[key]).unwrap();
            let mut byte = [0];
            near.read_exact(&mut byte).unwrap();
            assert_eq!(byte, [key]);
            let took = begin.elapsed();
            thread::sleep(Duration::from_millis(10));
            took
        })
        .collect();
    times.sort_unstable();
    let (tenth, median, ninety) = (times[10], times[50], times[90]);
    println!(
        "round trip of a key over a path of 20 ms: 10% {tenth:.1?}, median {median:.1?}, 90% {ninety:.1?}"
    );
    assert!(median >= Duration::from_millis(20));
    // A key that waits for more data or for an ACK would always wait; on a busy machine only some do.
    assert!(tenth < Duration::from_millis(50), "{times:.1?}");
}

#[test]
fn connections_through_a_gateway_that_restarts_are_reset_and_new_ones_work() {
    let folder = Folder::new("gateway-restarts");
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = format!("0:{}", target.local_addr().unwrap());
    let mut gateway = Running::new(&folder, &["tunnel", "--listen", "127.0.0.1:0", "--allow", "localhost:*"]);
    let at = gateway.address();
    let token = gateway.line().strip_prefix("token: ").unwrap().to_owned();
    let mut near = Running::new(&folder, &["tunnel", &at, "--token", &token, "--forward", &there]);
    let local = near.line().split(' ').next().unwrap().to_owned();
    let mut before = TcpStream::connect(&local).unwrap();
    let (mut far, _) = target.accept().unwrap();
    far.write_all(b"x").unwrap();
    before.read_exact(&mut [0]).unwrap();
    gateway.kill();
    gateway.child.wait().unwrap();
    let again = ["tunnel", "--listen", &at, "--allow", "localhost:*", "--token", &token];
    let mut gateway = Running::new(&folder, &again);
    assert_eq!(gateway.address(), at);
    // Its next datagram is answered by a reset, long before the connection would time out.
    before.write_all(b"y").unwrap();
    before.set_read_timeout(Some(SOON)).unwrap();
    let error = before.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    let mut after = TcpStream::connect(&local).unwrap();
    let (mut far, _) = target.accept().unwrap();
    far.write_all(b"z").unwrap();
    let mut byte = [0];
    after.read_exact(&mut byte).unwrap();
    assert_eq!(&byte, b"z");
}

#[test]
fn a_gateway_connects_only_to_allowed_targets() {
    let folder = Folder::new("gateway");
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = format!("0:{}", target.local_addr().unwrap());
    let tunnel = Tunnel::new(&folder, &["--forward", &there], "web.example:80", Settings::default());
    let mut near = TcpStream::connect(&tunnel.local).unwrap();
    let error = near.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    target.set_nonblocking(true).unwrap();
    assert_eq!(target.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn ports_and_socks_are_served_by_one_process() {
    let folder = Folder::new("entrances");
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = format!("0:{}", target.local_addr().unwrap());
    let entrances = ["--forward", &there, "--forward", &there, "--socks", "0"];
    let mut tunnel = Tunnel::new(&folder, &entrances, "localhost:*", Settings::default());
    let second = tunnel.near.line().split(' ').next().unwrap().to_owned();
    let third = tunnel.near.line();
    assert!(third.contains(" -> SOCKS5 via "), "{third}");
    for local in [&tunnel.local, &second] {
        let near = TcpStream::connect(local).unwrap();
        let (mut far, _) = target.accept().unwrap();
        far.write_all(b"x").unwrap();
        drop(far);
        let mut got = String::new();
        BufReader::new(near).read_to_string(&mut got).unwrap();
        assert_eq!(got, "x");
    }
}

#[test]
fn all_ip_goes_through_a_tunnel_between_interfaces() {
    all_ip(&[], 1);
}

#[test]
fn all_ip_goes_through_a_tunnel_with_classes() {
    all_ip(&["--class", "ef=0", "--class", "9022=2", "--dscp"], 3);
}

/// Two hosts, each with one end of a tunnel for packets, which have so many classes: `10.9.0.1` is the gateway.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by these lines")]
fn all_ip(options: &[&str], classes: usize) {
    let chain = match Chain::new(2) {
        Ok(chain) => chain,
        Err(error) => return println!("skipped: network namespaces need root and the command ip: {error}"),
    };
    let (Some(ping), Some(curl)) = (program("ping"), program("curl")) else {
        return println!("skipped: ping or curl is not installed");
    };
    let folder = Folder::new(&format!("tun-{classes}"));
    let start =
        |host: usize, command: &mut Command| chain.hosts[host].run(|| Running::of(command, &folder)).unwrap();
    let multihop = || Command::new(env!("CARGO_BIN_EXE_multihop"));
    let ends = |words: &[&str]| [&["tunnel", "-v"], words, options].concat().join(" ");
    let multihop = |words: &[&str]| {
        let mut command = multihop();
        command.args(ends(words).split(' '));
        command
    };
    let mut gateway = start(2, &mut multihop(&["--listen", "--tun", "10.9.0.1/24"]));
    gateway.address();
    let token = gateway.line().strip_prefix("token: ").unwrap().to_owned();
    let line = gateway.line();
    if line.is_empty() && gateway.end(SOON).stderr.contains("/dev/net/tun") {
        return println!("skipped: this machine allows no TUN interfaces");
    }
    assert_eq!(line, "multihop0: 10.9.0.1/24 -> IP via this gateway");
    let to = chain.address().to_string();
    assert_eq!(gateway.advice(), format!("multihop tunnel {to} --token {token} --tun ADDRESS/BITS"));
    let mut near = start(0, &mut multihop(&[&to, "--token", &token, "--tun", "10.9.0.2/24"]));
    assert_eq!(near.line(), format!("multihop0: 10.9.0.2/24 -> IP via {to}:7452"));
    for tos in ["0", "0xb8"] {
        let words = ["-Q", tos, "-c", "3", "-i", "0.2", "-W", "5", "10.9.0.1"];
        let said = start(0, Command::new(&ping).args(words)).succeeds();
        assert!(said.stdout.contains("3 packets transmitted, 3 received"), "{said:?}");
    }
    let page = "multihop ".repeat(100_000);
    let web = chain.hosts[2].run(|| TcpListener::bind("10.9.0.1:0").unwrap()).unwrap();
    let url = format!("http://{}/", web.local_addr().unwrap());
    let body = page.clone();
    thread::spawn(move || {
        let (mut stream, _) = web.accept().unwrap();
        let _ = stream.read(&mut [0; 1000]);
        write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    });
    start(0, Command::new(curl).args(["-s", "-S", "-m", "25", "-o", "got", &url])).succeeds();
    assert!(folder.read("got") == page, "the page is not intact");
    near.interrupt();
    let end = near.end(SOON);
    assert_eq!(end.code, Some(130));
    assert!(end.stderr.contains(&format!("classes={classes}")), "{}", end.stderr);
    let gone = chain.hosts[0].ip("link show multihop0");
    assert!(gone.is_err(), "the interface ends with the program");
}

/// A server on the wire, a gateway, and a station of the mesh; none of their programs knows of the tunnel.
struct Edge {
    chain: Chain,
    folder: Folder,
    curl: String,
}

const SERVER: usize = 0;
const GATEWAY: usize = 1;
const STATION: usize = 2;

impl Edge {
    fn start(&self, host: usize, arguments: &str) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
        let command = command.args(arguments.split(' '));
        self.chain.hosts[host].run(|| Running::of(command, &self.folder)).unwrap()
    }

    /// Starts the near end, and returns it with the line that says where a local port leads.
    fn start_near(&self, host: usize, arguments: &str) -> (Running, String) {
        let mut near = self.start(host, arguments);
        let line = near.line();
        (near, line)
    }

    fn firewall(&self, host: usize, nft: &str, rules: &str) {
        let mut command = Command::new(nft);
        self.chain.hosts[host].run(|| Running::of(command.arg(rules), &self.folder)).unwrap().succeeds();
    }

    /// Fetches from a port of a host; the address from which the request came.
    fn fetch(&self, from: usize, to: usize, port: u16) -> String {
        let ip = ["10.0.0.1", "10.0.1.1", "10.0.1.2"][to];
        let web = self.chain.hosts[to].run(|| TcpListener::bind((ip, port)).unwrap()).unwrap();
        thread::spawn(move || {
            let (mut stream, peer) = web.accept().unwrap();
            let _ = stream.read(&mut [0; 1000]);
            let body = peer.ip().to_string();
            write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        });
        let mut curl = Command::new(&self.curl);
        let curl = curl.args(["-s", "-S", "-m", "25", &format!("http://{ip}:{port}/")]);
        self.chain.hosts[from].run(|| Running::of(curl, &self.folder)).unwrap().succeeds().stdout
    }
}

#[test]
fn redirected_connections_go_through_the_gateway_both_ways() {
    let chain = match Chain::new(2) {
        Ok(chain) => chain,
        Err(error) => return println!("skipped: network namespaces need root and the command ip: {error}"),
    };
    let (Some(nft), Some(curl)) = (program("nft"), program("curl")) else {
        return println!("skipped: nft or curl is not installed");
    };
    let edge = Edge { chain, folder: Folder::new("edge"), curl };
    let out = "add table ip m; add chain ip m out { type nat hook output priority -100; }; \
               add rule ip m out meta mark != 0x6d68 tcp dport 8000 redirect to :7455";
    edge.firewall(STATION, &nft, out);
    let into = "add table ip m; add chain ip m nat { type nat hook prerouting priority -100; }; \
                add rule ip m nat tcp dport 8001 redirect to :7456; \
                add chain ip m divert { type filter hook prerouting priority -150; }; \
                add rule ip m divert iifname left tcp dport 8002 tproxy to :7456 meta mark set 1";
    edge.firewall(GATEWAY, &nft, into);
    for words in ["rule add fwmark 1 lookup 100", "route add local 0.0.0.0/0 dev lo table 100"] {
        edge.chain.hosts[GATEWAY].ip(words).unwrap();
    }
    // What the kernel forwards has the address of the first host.
    assert_eq!(edge.fetch(STATION, SERVER, 7999), "10.0.1.2");
    let mut gateway = edge.start(GATEWAY, "tunnel --listen 10.0.1.1 --allow 10.0.0.0/24:*");
    gateway.address();
    let token = gateway.line().strip_prefix("token: ").unwrap().to_owned();
    let near = format!("tunnel 10.0.1.1 --token {token} --transparent 7455 --fallback-tcp");
    let (_near, line) = edge.start_near(STATION, &near);
    assert_eq!(line, "127.0.0.1:7455 -> redirected connections via 10.0.1.1:7452");
    assert_eq!(edge.fetch(STATION, SERVER, 8000), "10.0.0.2");
    let mut station =
        edge.start(STATION, &format!("tunnel --listen 10.0.1.2 --token {token} --allow 10.0.1.2:*"));
    station.address();
    let back = format!("tunnel --to-targets --token {token} --transparent 0.0.0.0:7456");
    let _back = edge.start_near(GATEWAY, &back);
    for port in [8001, 8002] {
        assert_eq!(edge.fetch(SERVER, STATION, port), "10.0.1.2", "{port}");
    }
    // The gateway fails; its kernel still forwards.
    gateway.kill();
    assert_eq!(edge.fetch(STATION, SERVER, 8000), "10.0.1.2");
}

#[test]
fn conflicting_arguments_are_rejected() {
    let folder = Folder::new("tunnel-arguments");
    let attempts: [(&[&str], &str); 12] = [
        (&["tunnel"], "required"),
        (&["tunnel", "--listen", "--plain"], "--allow"),
        (&["tunnel", "host", "--plain"], "--forward"),
        (&["tunnel", "host", "--plain", "--socks", "a"], "'a' is not a port"),
        (&["tunnel", "host", "--plain", "--socks", "1", "--allow", "*:*"], "cannot be used with"),
        (&["tunnel", "host", "--plain", "--tun", "10.9.0.1"], "allowed: ADDRESS/BITS, as in 10.9.0.1/24"),
        (&["tunnel", "--listen", "--allow", "a", "--plain"], "allowed: HOST:PORT, where either may be *"),
        (&["tunnel", "host", "--to-targets", "--socks", "1", "--plain"], "cannot be used with"),
        (&["tunnel", "--listen", "--transparent", "1", "--allow", "*:*", "--plain"], "cannot be used with"),
        (&["tunnel", "host", "--socks", "1", "--plain", "--class", "22=8"], "allowed: 0 (sent first) to 7"),
        (
            &["tunnel", "host", "--socks", "1", "--plain", "--class", "22=0", "--transport", "tpa"],
            "--class: found the transport tpa, allowed: mesh",
        ),
        (&["tunnel", "host", "--forward", "1:a", "--plain"], "allowed: [ADDRESS:]PORT:HOST:PORT"),
    ];
    for (args, expected) in attempts {
        let output = multihop(&folder, args);
        assert_eq!((code(&output), stdout(&output)), (2, ""), "{args:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}
