//! Captures of real connections of `mesh`, read as docs/wire.md describes them and without this project's parsers.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use multihop_net::{Config, Listener, Security, Stream, Transport, TransportName, mesh};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio::time::sleep;

use crate::loopback::LOCAL;
use crate::run;

#[test]
fn a_capture_of_a_mesh_connection_shows_syn_data_and_fin_as_documented() {
    run(async {
        let (mut caller, mut answerer, recorder) = connect().await;
        caller.write_all(b"ab").await.unwrap();
        caller.shutdown().await.unwrap();
        let mut text = String::new();
        answerer.read_to_string(&mut text).await.unwrap();
        answerer.shutdown().await.unwrap();
        assert_eq!((text.as_str(), caller.read(&mut [0; 9]).await.unwrap()), ("ab", 0));
        let capture = recorder.capture("mesh-fin.pcap", |capture| {
            let fin = capture.find(End::Listener, |bytes| bytes[0] & FIN == FIN);
            let next = fin.map(|fin| number(fin, 4).wrapping_add(1));
            next.is_some_and(|next| capture.find(End::Caller, |bytes| acknowledges(bytes, next)).is_some())
        });
        let capture = capture.await;
        let [a, b] = check_opening(&capture);

        let data = capture.find(End::Caller, |bytes| bytes[0] & 0xf4 == 0x10 && bytes.len() > 16).unwrap();
        assert_eq!(
            [number(data, 4), number(data, 8)],
            [a.wrapping_add(1); 2],
            "segment and transmission: {data:?}"
        );
        assert_eq!(&data[16..], b"ab");
        let fin = capture.find(End::Caller, |bytes| bytes[0] & FIN == FIN).unwrap();
        assert_eq!((fin.len(), number(fin, 4)), (16, a.wrapping_add(2)), "{fin:?}");
        let acknowledged = capture.find(End::Listener, |bytes| acknowledges(bytes, a.wrapping_add(3)));
        assert!(acknowledged.is_some(), "an ACK names the number behind the FIN");
        let fin = capture.find(End::Listener, |bytes| bytes[0] & FIN == FIN).unwrap();
        assert_eq!((fin.len(), number(fin, 4)), (16, b.wrapping_add(1)), "{fin:?}");
        assert!(capture.find(End::Caller, |bytes| bytes[0] == 0x32).is_none(), "nothing is reset");
    });
}

#[test]
fn a_capture_of_an_aborted_mesh_connection_shows_rst_as_documented() {
    run(async {
        let (caller, mut answerer, recorder) = connect().await;
        caller.abort();
        answerer.read(&mut [0; 9]).await.unwrap_err();
        let is_reset = |bytes: &[u8]| bytes[0] == 0x32;
        let capture =
            recorder.capture("mesh-rst.pcap", move |capture| capture.find(End::Caller, is_reset).is_some());
        let capture = capture.await;
        let [_, b] = check_opening(&capture);
        let reset = capture.find(End::Caller, is_reset).unwrap();
        // Cause 0: the application aborted the connection. The listener has sent nothing, so that its next segment is the first.
        assert_eq!(reset, [&[0x32, 0, 0, 0][..], &b.wrapping_add(1).to_be_bytes()].concat());
        assert!(capture.find(End::Listener, is_reset).is_none(), "no RST is answered");
    });
}

/// Checks SYN, cookie and SYN ACK; returns the connection numbers of the caller and the listener.
fn check_opening(capture: &Capture) -> [u32; 2] {
    let version = (1, vec![3]);
    let name = (3, [&[6][..], b"mesh/3"].concat());

    let first = capture.find(End::Caller, |_| true).unwrap();
    assert_eq!(first[..4], [0x30, 0, 0, 7], "a SYN comes first: {first:?}");
    let a = number(first, 4);
    assert_ne!(first[8..10], [0, 0], "the window is open: {first:?}");
    let offered = options(&first[10..]);
    assert_eq!((offered[&1].clone(), offered[&3].clone()), (version.1.clone(), name.1.clone()));
    assert_eq!(offered[&4], [0; 16], "the caller has no cookie yet");
    assert_eq!((offered[&6].clone(), offered[&8].len()), (vec![64], 2));

    let cookie = capture.find(End::Listener, |_| true).unwrap();
    assert_eq!((cookie.len(), &cookie[..4]), (32, &[0x31, 0, 0, 7][..]), "{cookie:?}");
    assert_eq!([number(cookie, 4), number(cookie, 8)], [0, a], "{cookie:?}");
    assert_eq!((&cookie[12..14], cookie[14..16].to_vec()), (&[0, 0][..], vec![4, 16]));

    let syn = capture.find(End::Caller, |bytes| bytes[0] == 0x30 && options(&bytes[10..])[&4] != [0; 16]);
    let syn = syn.unwrap();
    assert_eq!((number(syn, 4), &options(&syn[10..])[&4][..]), (a, &cookie[16..]), "{syn:?}");

    let answer = capture.find(End::Listener, |bytes| bytes[0] == 0x31 && number(bytes, 4) != 0).unwrap();
    assert_eq!(answer[..4], [0x31, syn[1], 0, 7], "{answer:?}");
    assert_eq!(number(answer, 8), a, "{answer:?}");
    assert_ne!(answer[12..14], [0, 0], "the window is open: {answer:?}");
    let chosen = options(&answer[14..]);
    assert_eq!((chosen[&1].clone(), chosen[&3].clone()), (version.1, name.1));
    [a, number(answer, 4)]
}

/// The type and the flag of FIN.
const FIN: u8 = 0x14;

fn acknowledges(bytes: &[u8], next: u32) -> bool {
    bytes[0] & 0xf0 == 0x20 && bytes.len() >= 24 && number(bytes, 4) == next
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The options of a SYN by their types.
fn options(mut bytes: &[u8]) -> BTreeMap<u8, Vec<u8>> {
    let mut found = BTreeMap::new();
    while let [kind, rest @ ..] = bytes {
        if *kind == 0 {
            bytes = rest;
            continue;
        }
        let (value, further) = rest[1..].split_at(rest[0].into());
        found.insert(*kind, value.to_vec());
        bytes = further;
    }
    found
}

/// Both ends of a plain connection of `mesh`, and what records its datagrams.
async fn connect() -> (Stream, Stream, Recorder) {
    let name = TransportName::new("mesh/3").unwrap();
    let transport = Transport { name, config: Arc::new(mesh::Config::net()) };
    let config = Config { transport, ..Config::new(Security::Plain) };
    let listener = Listener::bind(LOCAL, config.clone()).await.unwrap();
    let recorder = Recorder::start(listener.local_addr()).await;
    let (caller, answerer) = tokio::join!(Stream::connect(recorder.address, &config), listener.accept());
    (caller.unwrap(), answerer.unwrap(), recorder)
}

/// The end of the connection that sends a datagram.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    Caller,
    Listener,
}

/// A relay between a caller and a listener that keeps every datagram.
struct Recorder {
    /// The address that the caller connects to.
    address: SocketAddr,
    listener: SocketAddr,
    datagrams: Arc<Mutex<Vec<Datagram>>>,
}

#[derive(Clone)]
struct Datagram {
    sender: End,
    after: Duration,
    bytes: Vec<u8>,
}

impl Recorder {
    async fn start(listener: SocketAddr) -> Self {
        let (front, back) = (UdpSocket::bind(LOCAL).await.unwrap(), UdpSocket::bind(LOCAL).await.unwrap());
        let (address, datagrams) = (front.local_addr().unwrap(), Arc::<Mutex<Vec<Datagram>>>::default());
        let theirs = Arc::clone(&datagrams);
        tokio::spawn(async move {
            let (mut from_caller, mut from_listener) = ([0; 2048], [0; 2048]);
            let (begun, mut caller) = (Instant::now(), None);
            let keep = |sender, bytes: &[u8]| {
                theirs.lock().unwrap().push(Datagram {
                    sender,
                    after: begun.elapsed(),
                    bytes: bytes.to_vec(),
                });
            };
            loop {
                tokio::select! {
                    Ok((len, from)) = front.recv_from(&mut from_caller) => {
                        caller = Some(from);
                        keep(End::Caller, &from_caller[..len]);
                        back.send_to(&from_caller[..len], listener).await.unwrap();
                    }
                    Ok((len, _)) = back.recv_from(&mut from_listener) => {
                        keep(End::Listener, &from_listener[..len]);
                        front.send_to(&from_listener[..len], caller.unwrap()).await.unwrap();
                    }
                }
            }
        });
        Self { address, listener, datagrams }
    }

    /// Writes the datagrams into a file once they are complete, and reads the file.
    async fn capture(self, name: &str, is_complete: impl Fn(&Capture) -> bool) -> Capture {
        loop {
            let capture = Capture { datagrams: self.datagrams.lock().unwrap().clone() };
            if is_complete(&capture) {
                let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
                fs::write(&path, capture.pcap(self.address.port(), self.listener.port())).unwrap();
                return Capture::read(&fs::read(path).unwrap(), self.listener.port());
            }
            sleep(Duration::from_millis(5)).await;
        }
    }
}

/// The datagrams of a connection in the order in which they passed.
struct Capture {
    datagrams: Vec<Datagram>,
}

impl Capture {
    /// The first datagram of an end that fulfils a condition.
    fn find(&self, sender: End, is_wanted: impl Fn(&[u8]) -> bool) -> Option<&[u8]> {
        let of_sender = self.datagrams.iter().filter(|datagram| datagram.sender == sender);
        of_sender.map(|datagram| &datagram.bytes[..]).find(|bytes| is_wanted(bytes))
    }

    /// A file of pcap with packets of IPv4 between these ports of 127.0.0.1.
    fn pcap(&self, caller: u16, listener: u16) -> Vec<u8> {
        let mut file = Vec::new();
        for field in [0xa1b2_c3d4, 0x0002_0004, 0, 0, 65_535, LINK_IPV4] {
            file.extend(u32::to_be_bytes(field));
        }
        for Datagram { sender, after, bytes } in &self.datagrams {
            let (from, to) = if *sender == End::Caller { (caller, listener) } else { (listener, caller) };
            let len = u16::try_from(HEADERS + bytes.len()).unwrap();
            let mut packet = [&[0x45, 0][..], &len.to_be_bytes(), &[0, 0, 0x40, 0, 64, 17, 0, 0]].concat();
            packet.extend([127, 0, 0, 1, 127, 0, 0, 1]);
            let checksum = checksum(&packet).to_be_bytes();
            packet[10..12].copy_from_slice(&checksum);
            // Without a checksum of UDP, which IPv4 permits.
            for field in [from, to, len - 20, 0] {
                packet.extend(field.to_be_bytes());
            }
            packet.extend(bytes);
            let [seconds, micros] = [u32::try_from(after.as_secs()).unwrap(), after.subsec_micros()];
            for field in [seconds, micros, len.into(), len.into()] {
                file.extend(field.to_be_bytes());
            }
            file.extend(packet);
        }
        file
    }

    /// Reads a file of [`pcap`](Self::pcap).
    fn read(file: &[u8], listener: u16) -> Self {
        assert_eq!((number(file, 0), number(file, 20)), (0xa1b2_c3d4, LINK_IPV4));
        let (mut rest, mut datagrams) = (&file[24..], Vec::new());
        while !rest.is_empty() {
            let after = Duration::new(number(rest, 0).into(), 1000 * number(rest, 4));
            let (packet, further) = rest[16..].split_at(number(rest, 8) as usize);
            assert_eq!((packet[9], checksum(&packet[..20])), (17, 0), "IPv4 with UDP");
            let to_listener = packet[22..24] == listener.to_be_bytes();
            let sender = if to_listener { End::Caller } else { End::Listener };
            datagrams.push(Datagram { sender, after, bytes: packet[HEADERS..].to_vec() });
            rest = further;
        }
        Self { datagrams }
    }
}

/// The checksum of a header of IPv4; 0 for a header with its checksum.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap()
}

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: usize = 28;
/// The type of packets that begin with a header of IPv4.
const LINK_IPV4: u32 = 228;
