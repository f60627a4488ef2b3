//! Networks with real programs.
#![cfg(target_os = "linux")]

use std::time::Duration;

use multihop_lab::{Error, Lab};

const SOON: Duration = Duration::from_secs(30);

/// The lab with the command of this build, if it is built and the machine allows emulations.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
fn possible(lab: Lab) -> Option<Lab> {
    let test = std::env::current_exe().expect("a test is a program");
    let command = test.ancestors().nth(2).expect("it is in target/debug/deps").join("multihop");
    if !command.exists() {
        println!("skipped: {} is not built", command.display());
        return None;
    }
    if let Err(Error::Unavailable(reason)) = Lab::chain(1).command(&command).any_lateness().start() {
        println!("skipped: {reason}");
        return None;
    }
    Some(lab.command(command).any_lateness())
}

#[test]
fn programs_run_on_a_network_that_breaks() {
    let Some(lab) = possible(Lab::chain(2).phy("802.11g").set("seed", 3)) else { return };
    let net = lab.start().unwrap();
    assert_eq!((net.nodes(), net.node(2).address(), net.node(2).address6()), (3, "10.0.0.3", "fd00::3"));
    let echo =
        "import socket; s = socket.create_server((\"\", 7000)); c, _ = s.accept(); c.sendall(c.recv(99))";
    let server = net.node(2).command(&format!("exec python3 -c '{echo}'")).listens(7000).start().unwrap();
    let ask = "import socket; s = socket.create_connection((\"{2}\", 7000), 20); s.sendall(b\"hi\"); print(s.recv(9))";
    assert_eq!(net.node(0).run(&format!("exec python3 -c '{ask}'"), SOON).unwrap(), "b'hi'\n");
    assert_eq!(server.wait(SOON).unwrap(), Some(0));
    assert!(net.counters(1).unwrap().delivered() > 0);

    net.cut(1, 2).unwrap();
    net.lossy(0.1).unwrap();
    net.lossy_link(0, 1, 0.5).unwrap();
    net.move_to(0, [1.0, 2.0]).unwrap();
    net.freeze(1).unwrap();
    assert!(matches!(net.node(1).start("true"), Err(Error::Refused(text)) if text.contains("frozen")));
    net.thaw(1).unwrap();
    assert!(matches!(net.cut(0, 9), Err(Error::Refused(text)) if text.contains("allowed: 0 to 2")));
    let before = net.counters(1).unwrap().links.iter().map(|link| link.dropped).sum::<u64>();
    net.mend(1, 2).unwrap();
    assert!(net.time().unwrap() > Duration::ZERO && before < 1000);

    let error = net.node(0).run("echo last words; echo bad >&2; exit 3", SOON).unwrap_err().to_string();
    assert!(error.contains("at node0 ended with exit code 3\nlast words\nbad"), "{error}");
    let sleeper = net.node(1).command("echo $NAME; exec sleep 600").environment("NAME", "x").start().unwrap();
    assert_eq!(sleeper.wait(Duration::from_millis(100)).unwrap(), None);
    sleeper.kill().unwrap();
    assert_eq!(sleeper.wait(SOON).unwrap(), Some(-9));
    assert_eq!((sleeper.output().unwrap().as_str(), sleeper.errors().unwrap().as_str()), ("x\n", ""));
    let result = net.close().unwrap();
    assert_eq!(result["programs"][0]["exit_code"], 0);
}

#[test]
fn threads_share_a_network_and_its_drop_ends_the_programs() {
    let Some(lab) = possible(Lab::grid(1, 2)) else { return };
    let marker = format!("96{}", std::process::id());
    {
        let net = lab.start().unwrap();
        std::thread::scope(|scope| {
            for n in 0..4 {
                let node = net.node(n % 2);
                scope.spawn(move || {
                    assert_eq!(node.run(&format!("echo {n}"), SOON).unwrap(), format!("{n}\n"))
                });
            }
        });
        net.node(0).start(&format!("sleep {marker} & setsid sleep {marker}")).unwrap();
    }
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    assert!(!lines.into_iter().any(|line| String::from_utf8_lossy(&line).contains(&marker)));
}

#[test]
fn a_command_that_cannot_run_is_named() {
    let error = Lab::chain(1).command("no-such-command").start().unwrap_err().to_string();
    assert!(error.starts_with("cannot run no-such-command: No such file"), "{error}");
    let Some(lab) = possible(Lab::chain(1)) else { return };
    let error = lab.set("topology.hops", 0).start().unwrap_err().to_string();
    assert!(error.contains("hops"), "{error}");
}
