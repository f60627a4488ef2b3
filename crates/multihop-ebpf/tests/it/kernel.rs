//! The controls in the kernel of this machine, between namespaces. These tests need root.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use std::{env, fs, thread};

use multihop_ebpf::{
    Adtcp, Control, KernelConnection, Run, Sample, Settings, TcpError, flows, is_loaded, load, unload,
};
use multihop_linux::netns::Namespace;
use multihop_wire::tcp::NetworkState;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket, sockopt};

use crate::path::{Path as Trial, Trouble};
use crate::skip;

const SENDER: &str = "10.0.0.1";
const RECEIVER: &str = "10.0.0.2";
/// Environment variable of a process of these tests that is to be killed.
const VICTIM: &str = "MULTIHOP_TEST_VICTIM";

/// Lock for the controls and cgroups, which belong to the machine: one test at a time uses them.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(|failed| failed.into_inner())
}

/// Two namespaces that are joined, or a printed reason why not.
fn two() -> Option<(Namespace, Namespace)> {
    let made = Namespace::new().and_then(|sender| Ok((sender, Namespace::new()?)));
    let (sender, receiver) = made.map_err(|error| skip(format!("there are no namespaces: {error}"))).ok()?;
    let [mine, theirs] = [SENDER, RECEIVER].map(|address| format!("{address}/24"));
    sender.join(("sender", &mine), &receiver, ("receiver", &theirs)).unwrap();
    // An initial TTL of 61 makes the path look like one over three routers.
    receiver.set("net/ipv4/ip_default_ttl", "61").unwrap();
    // The link is ready a moment after it is set up.
    let listener = receiver.run(|| TcpListener::bind((RECEIVER, 0)).unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let tries = 0..200;
    let is_ready = sender
        .run(|| {
            tries.into_iter().any(|_| {
                let connected = TcpStream::connect(address).is_ok();
                if !connected {
                    thread::sleep(Duration::from_millis(10));
                }
                connected
            })
        })
        .unwrap();
    assert!(is_ready, "the namespaces are not joined");
    Some((sender, receiver))
}

/// The value; without one, prints the reason why this machine has none.
fn or_skip<T>(result: Result<T, TcpError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(
            error @ (TcpError::NoBtf(_)
            | TcpError::NoStructOps
            | TcpError::Rights(_)
            | TcpError::NoCgroups
            | TcpError::Forbidden { .. }),
        ) => {
            skip(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Names of the controls that the kernel has.
fn available() -> Vec<String> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    names.split_whitespace().map(str::to_owned).collect()
}

fn is_available(name: &str) -> bool {
    available().iter().any(|one| one == name)
}

/// A server that reads everything; returns how much.
fn serve(listener: TcpListener) -> thread::JoinHandle<usize> {
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        bytes.len()
    })
}

#[test]
fn root_a_program_uses_a_control_that_ends_with_it() {
    let _alone = alone();
    let Some((sender, receiver)) = two() else { return };
    for control in Control::ALL {
        let Some(mut run) = or_skip(Run::new(control, Settings::default(), true)) else { return };
        assert!(is_available(run.name()), "{:?}", available());
        let listener = receiver.run(|| TcpListener::bind((RECEIVER, 0)).unwrap()).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = serve(listener);
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", sender.path().display()));
        command.args(["bash", "-c", &format!("head -c 60000 /dev/zero > /dev/tcp/{RECEIVER}/{port}")]);
        let mut child = run.spawn(&mut command).unwrap();
        let mut samples: Vec<Sample> = Vec::new();
        let status = run.wait(&mut child, |sample| samples.push(sample.clone())).unwrap();
        assert!(status.success());
        assert_eq!(server.join().unwrap(), 60_000);
        let last = samples.last().expect("the connection used the control");
        assert_eq!(last.hops, 4);
        match control {
            Control::Ap => assert!(samples.iter().any(|sample| sample.is_counted && sample.gap_ms > 0.0)),
            Control::Clamp => assert!(samples.iter().all(|sample| sample.window <= 2)),
            Control::Mesh => assert!(samples.iter().any(|sample| sample.gap_ms > 0.0 && sample.window >= 5)),
            // Only one end uses ADTCP.
            Control::Adtcp => assert!(samples.iter().all(|sample| sample.told == NetworkState::NORMAL)),
        }
        let name = run.name().to_owned();
        drop(run);
        assert!(!is_available(&name), "{:?}", available());
    }
}

#[test]
fn root_connections_are_listed_from_another_process_than_that_of_the_control() {
    let _alone = alone();
    if or_skip(flows()).is_none() {
        return;
    }
    let Some((sender, receiver)) = two() else { return };
    let Some(run) = or_skip(Run::new(Control::Ap, Settings::default(), false)) else { return };
    let listener = receiver.run(|| TcpListener::bind((RECEIVER, 0)).unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let mut client = sender.run(|| TcpStream::connect(address).unwrap()).unwrap();
    setsockopt(&client, sockopt::TcpCongestion, &run.name().into()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    for _ in 0..20 {
        client.write_all(&[7; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        // The answer carries the ACK.
        server.write_all(&[7]).unwrap();
        client.read_exact(&mut [0]).unwrap();
    }
    let local = client.local_addr().unwrap();
    let mine: Vec<KernelConnection> = flows().unwrap().into_iter().filter(|one| one.local == local).collect();
    let [one] = mine.as_slice() else { panic!("{mine:?}") };
    assert_eq!((one.remote, one.control), (address, "mh_ap"));
    assert!(one.rtt_ms.is_some_and(|rtt| rtt > 0.0) && one.window > 0, "{one:?}");
    // Hops are read for the cgroup in which a program runs; without them there is no pace.
    assert_eq!((one.hops, one.pace_kbps), (None, None));
}

#[test]
fn root_load_serves_all_programs_and_unload_leaves_nothing() {
    let _alone = alone();
    if is_loaded() {
        skip("the controls are loaded, and may be in use");
        return;
    }
    let Some((sender, receiver)) = two() else { return };
    if or_skip(flows()).is_none() || or_skip(load(Settings::default(), None)).is_none() {
        return;
    }
    assert!(Control::ALL.iter().all(|control| is_available(control.name())), "{:?}", available());
    assert!(matches!(load(Settings::default(), None), Err(TcpError::Loaded)));
    let listener = receiver.run(|| TcpListener::bind((RECEIVER, 0)).unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let mut client = sender.run(|| TcpStream::connect(address).unwrap()).unwrap();
    setsockopt(&client, sockopt::TcpCongestion, &"mh_ap".into()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    for _ in 0..20 {
        client.write_all(&[7; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        server.write_all(&[7]).unwrap();
        client.read_exact(&mut [0]).unwrap();
    }
    let local = client.local_addr().unwrap();
    let listed = flows().unwrap();
    let one = listed.iter().find(|one| one.local == local).expect("the connection is listed");
    assert_eq!(one.hops, Some(4));
    assert!(one.pace_kbps.is_some_and(|pace| pace > 0.0), "{one:?}");
    let of_adtcp = adtcp_chosen_before_connecting(&sender, &receiver);
    assert!(of_adtcp.received.all > 0, "{of_adtcp:?}");
    // A loader that was killed half-way leaves fewer files than a complete one.
    fs::remove_file("/run/multihop-tcp/mh_clamp").unwrap();
    unload().unwrap();
    assert!(matches!(unload(), Err(TcpError::NotLoaded)));
    assert!(!Control::ALL.iter().any(|control| is_available(control.name())), "{:?}", available());
    assert!(!Path::new("/run/multihop-tcp").exists());
    // The connection survives the loss of the control.
    client.write_all(&[7; 1000]).unwrap();
    server.read_exact(&mut [0; 1000]).unwrap();
}

/// Reports over a connection whose ends choose ADTCP before the connection is established.
fn adtcp_chosen_before_connecting(sender: &Namespace, receiver: &Namespace) -> Adtcp {
    let listener = receiver.run(|| TcpListener::bind((RECEIVER, 0)).unwrap()).unwrap();
    setsockopt(&listener, sockopt::TcpCongestion, &"mh_adtcp".into()).unwrap();
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("an address of IPv4") };
    let made = sender.run(|| socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).unwrap());
    let made = made.unwrap();
    setsockopt(&made, sockopt::TcpCongestion, &"mh_adtcp".into()).unwrap();
    connect(made.as_raw_fd(), &SockaddrIn::from(address)).unwrap();
    let mut client = TcpStream::from(made);
    let (mut server, _) = listener.accept().unwrap();
    for _ in 0..20 {
        client.write_all(&[7; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        server.write_all(&[7]).unwrap();
        client.read_exact(&mut [0]).unwrap();
    }
    let local = client.local_addr().unwrap();
    let one = flows().unwrap().into_iter().find(|one| one.local == local);
    one.and_then(|one| one.adtcp).expect("the connection is listed with ADTCP")
}

/// Starts a process that loads a control; returns it and the control's name. `program` runs the process, for
/// example `unshare`.
fn victim(program: &[&str], test: &str) -> (Child, String) {
    let exe = env::current_exe().unwrap();
    let mut words = program.iter().map(OsStr::new).chain([exe.as_os_str()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["--exact", test, "--nocapture"]).env(VICTIM, "1").stdout(Stdio::piped());
    let mut victim = command.spawn().unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let name = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("name ").map(str::to_owned));
    let name = name.expect("the victim has loaded a control");
    assert!(is_available(&name), "{:?}", available());
    (victim, name)
}

/// The main function of the victim.
fn wait_for_the_end() -> ! {
    let run = Run::new(Control::Ap, Settings::default(), false).unwrap();
    // This output is not captured, because another process reads it.
    let mut out = std::io::stdout();
    writeln!(out, "\nname {}", run.name()).unwrap();
    loop {
        thread::park();
    }
}

/// Kills a victim and waits until its control has been removed: by the kernel, or, without links of controls, by a command.
fn end(mut victim: Child, name: &str) {
    assert!(is_available(name), "the control of a live process has been removed: {:?}", available());
    victim.kill().unwrap();
    victim.wait().unwrap();
    // `unshare` ends before the process that it has started.
    while is_available(name) {
        if kernel() < [6, 4] {
            flows().unwrap();
        }
        thread::yield_now();
    }
}

/// The first two numbers of the version of the kernel.
fn kernel() -> [u32; 2] {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse().ok());
    [(); 2].map(|()| numbers.next().expect("a release begins with two numbers"))
}

#[test]
fn root_a_run_that_is_killed_leaves_no_control_and_its_cgroup_is_swept() {
    let _alone = alone();
    if env::var_os(VICTIM).is_some() {
        wait_for_the_end();
    }
    if or_skip(flows()).is_none() || or_skip(Run::new(Control::Ap, Settings::default(), false)).is_none() {
        return;
    }
    let test = "kernel::root_a_run_that_is_killed_leaves_no_control_and_its_cgroup_is_swept";
    let (victim, name) = victim(&[], test);
    let namespace = fs::metadata("/proc/self/ns/pid").unwrap().ino();
    let cgroup = format!("multihop-tcp-{namespace}-{}", victim.id());
    end(victim, &name);
    flows().unwrap();
    for place in cgroup_mounts() {
        let place = place.join(&cgroup);
        assert!(!place.exists(), "{}", place.display());
    }
}

fn cgroup_mounts() -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mounts = mounts.lines().filter(|line| line.split(' ').nth(2) == Some("cgroup2"));
    mounts.map(|mount| PathBuf::from(mount.split(' ').nth(1).unwrap())).collect()
}

/// Processes of two containers can have the same number.
#[test]
fn root_runs_in_two_process_namespaces_do_not_meet() {
    let _alone = alone();
    if env::var_os(VICTIM).is_some() {
        wait_for_the_end();
    }
    if or_skip(Run::new(Control::Ap, Settings::default(), false)).is_none() {
        return;
    }
    let apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let test = "kernel::root_runs_in_two_process_namespaces_do_not_meet";
    let victims = [victim(&apart, test), victim(&apart, test)];
    assert_ne!(victims[0].1, victims[1].1);
    for (victim, name) in victims {
        end(victim, &name);
    }
    // A command sweeps what those of its own namespace have left, and these namespaces have ended.
    for entry in cgroup_mounts().iter().flat_map(fs::read_dir).flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("multihop-tcp-") {
            fs::remove_dir(entry.path()).unwrap();
        }
    }
}

/// Environment variable of a process of these tests that receives, with the address at which it does.
const SERVER: &str = "MULTIHOP_TEST_SERVER";

/// A server in a process of its own, in a namespace and in the cgroup of a control; its port.
fn server(run: &Run, trial: &Trial, address: &str) -> (Child, u16) {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", trial.receiver.path().display())).arg(env::current_exe().unwrap());
    command.args([
        "--exact",
        "kernel::root_adtcp_tells_losses_of_the_channel_from_congestion",
        "--nocapture",
    ]);
    let mut child = run.spawn(command.env(SERVER, address).stdout(Stdio::piped())).unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut lines = output.by_ref().lines().map_while(Result::ok);
    let port = lines.find_map(|line| line.strip_prefix("port ")?.parse().ok());
    // The output must have a reader until the process ends.
    child.stdout = Some(output.into_inner());
    (child, port.expect("the server has a port"))
}

fn receive_everything(address: &str) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let mut out = std::io::stdout();
    writeln!(out, "\nport {}", listener.local_addr().unwrap().port()).unwrap();
    std::io::copy(&mut listener.accept().unwrap().0, &mut std::io::sink()).unwrap();
}

/// ACKs of a connection over a path with this trouble; both ends use ADTCP.
fn acks_over(trouble: Trouble) -> Option<Vec<Sample>> {
    let made = Trial::new(SENDER.parse().unwrap(), RECEIVER.parse().unwrap(), trouble);
    let trial = made.map_err(|error| skip(format!("there are no namespaces: {error}"))).ok()?;
    let mut run = or_skip(Run::new(Control::Adtcp, Settings::default(), true))?;
    let (mut receiver, port) = server(&run, &trial, RECEIVER);
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", trial.sender.path().display()));
    command.args(["bash", "-c", &format!("head -c 6000000 /dev/zero > /dev/tcp/{RECEIVER}/{port}")]);
    let mut child = run.spawn(&mut command).unwrap();
    let mut samples: Vec<Sample> = Vec::new();
    let status = run.wait(&mut child, |sample| samples.push(sample.clone())).unwrap();
    assert!(status.success() && receiver.wait().unwrap().success());
    Some(samples)
}

#[test]
fn root_adtcp_tells_losses_of_the_channel_from_congestion() {
    if let Ok(address) = env::var(SERVER) {
        return receive_everything(&address);
    }
    let _alone = alone();
    let Some(samples) = acks_over(Trouble::Losses) else { return };
    let told = |state: NetworkState| move |sample: &Sample| sample.told.has(state);
    let errors = samples.iter().filter(|sample| told(NetworkState::CHANNEL_ERROR)(sample)).count();
    let congestion = samples.iter().filter(|sample| told(NetworkState::CONGESTION)(sample)).count();
    assert!(errors > congestion, "{errors} and {congestion} of {} ACKs", samples.len());
    assert!(windows_kept(&samples).any(|[before, after]| before >= 4 && after >= before), "{samples:?}");

    let Some(samples) = acks_over(Trouble::Crowd) else { return };
    assert!(samples.iter().any(told(NetworkState::CONGESTION)));
    let last = samples.last().unwrap();
    assert!(last.kept < last.losses, "{last:?}");
}

/// The window before each loss after which it was kept, and the largest from then to the next loss.
fn windows_kept(samples: &[Sample]) -> impl Iterator<Item = [u32; 2]> {
    let losses = samples.windows(2).enumerate().filter(|(_, pair)| pair[1].kept > pair[0].kept);
    losses.map(|(n, pair)| {
        let after = samples[n + 1..].iter().take_while(|sample| sample.losses == pair[1].losses);
        [pair[0].window, after.map(|sample| sample.window).max().unwrap_or(0)]
    })
}
