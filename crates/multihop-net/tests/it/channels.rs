//! Channels of messages over real sockets on this host.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use multihop_net::{ChannelOptions, Config, Content, Listener, Stream, Transport, mesh};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::loopback::{pair, pattern, plain};
use crate::run;

fn with_channels() -> Config {
    let transport = Transport::mesh(mesh::Config { channels: true, ..mesh::Config::net() });
    Config { transport, ..plain() }
}

fn whole(content: Content) -> Vec<u8> {
    match content {
        Content::Whole(data) => data.into_bytes(),
        other => panic!("not a whole message: {other:?}"),
    }
}

#[test]
fn both_ends_send_messages_in_a_channel_beside_the_stream() {
    run(async {
        let (mut caller, mut answerer, _listener) = pair(&with_channels()).await;
        let options = ChannelOptions { priority: 1, name: "commands".into(), ..ChannelOptions::default() };
        let commands = caller.open_channel(options.clone()).unwrap();
        assert_eq!(commands.send(b"arm".to_vec()).await.unwrap(), 0);
        let at_answerer = answerer.accept_channel().await.unwrap().unwrap();
        assert_eq!((at_answerer.options(), at_answerer.number()), (options, commands.number().at_peer()));
        assert_eq!(whole(at_answerer.recv().await.unwrap().unwrap().content), b"arm");
        at_answerer.send(b"armed".to_vec()).await.unwrap();
        assert_eq!(whole(commands.recv().await.unwrap().unwrap().content), b"armed");
        caller.write_all(b"stream").await.unwrap();
        let mut text = [0; 6];
        answerer.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"stream");
        assert_eq!((commands.counters().sent, commands.counters().delivered), (1, 1));
        caller.shutdown().await.unwrap();
        assert!(at_answerer.recv().await.unwrap().is_none(), "the peer has closed");
        assert!(answerer.accept_channel().await.unwrap().is_none());
    });
}

#[test]
fn channels_take_no_more_memory_than_the_limit() {
    run(async {
        let mut config = with_channels();
        // 128 KiB to send, 64 segments, and two channels of 64 KiB are reserved; a third channel takes the rest.
        (config.limits.connections, config.limits.memory) = (1, 128 * 1024 + 64 * 1460 + 3 * 65_536);
        let (caller, _answerer, _listener) = pair(&config).await;
        let open = || caller.open_channel(ChannelOptions::default());
        let _opened = [open().unwrap(), open().unwrap(), open().unwrap()];
        let error = open().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        assert_eq!(error.to_string(), "no memory for another channel, limits.memory is reached");
    });
}

#[test]
fn a_channel_that_nobody_reads_stops_no_other_one() {
    run(async {
        let (caller, answerer, _listener) = pair(&with_channels()).await;
        let images = Arc::new(
            caller.open_channel(ChannelOptions { priority: 6, ..ChannelOptions::default() }).unwrap(),
        );
        let commands =
            caller.open_channel(ChannelOptions { priority: 0, ..ChannelOptions::default() }).unwrap();
        let filling = Arc::clone(&images);
        let full = tokio::spawn(async move { while filling.send(pattern(20_000)).await.is_ok() {} });
        let unread = answerer.accept_channel().await.unwrap().unwrap();
        let read = answerer.accept_channel().await.unwrap().unwrap();
        for number in 0..20_u8 {
            commands.send(vec![number; 100]).await.unwrap();
            assert_eq!(whole(read.recv().await.unwrap().unwrap().content), vec![number; 100]);
        }
        // The sender of the unread channel must stop; otherwise, the test's time limit ends the loop.
        let mut sent = None;
        while sent != Some(images.counters().sent) {
            sent = Some(images.counters().sent);
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        for _ in 0..30 {
            assert_eq!(whole(unread.recv().await.unwrap().unwrap().content), pattern(20_000));
        }
        full.abort();
    });
}

#[test]
fn a_long_message_arrives_in_parts() {
    run(async {
        let (caller, answerer, _listener) = pair(&with_channels()).await;
        let channel = caller.open_channel(ChannelOptions::default()).unwrap();
        let image = pattern(2_000_000);
        let sent = image.clone();
        let sender = tokio::spawn(async move { channel.send(sent).await.map(|number| (number, channel)) });
        let channel = answerer.accept_channel().await.unwrap().unwrap();
        let mut all = Vec::new();
        loop {
            let Content::Part { offset, data, is_last } = channel.recv().await.unwrap().unwrap().content
            else {
                panic!("a part of a long message");
            };
            assert_eq!(offset, all.len() as u64);
            all.extend(data.into_bytes());
            if is_last {
                break;
            }
        }
        assert!(all == image);
        sender.await.unwrap().unwrap();
    });
}

#[test]
fn channels_outlive_their_stream_and_keep_the_connection() {
    run(async {
        let (caller, answerer, _listener) = pair(&with_channels()).await;
        let channel = caller.open_channel(ChannelOptions::default()).unwrap();
        drop(caller);
        channel.send(b"still here".to_vec()).await.unwrap();
        let at_answerer = answerer.accept_channel().await.unwrap().unwrap();
        assert_eq!(whole(at_answerer.recv().await.unwrap().unwrap().content), b"still here");
        drop(channel);
        assert!(at_answerer.recv().await.unwrap().is_none());
    });
}

#[test]
fn a_connection_without_channels_says_so() {
    run(async {
        let (caller, answerer, _listener) = pair(&plain()).await;
        let refused = caller.open_channel(ChannelOptions::default()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
        assert!(answerer.accept_channel().await.is_err());
        let (caller, answerer, _listener) = pair(&with_channels()).await;
        let wrong =
            caller.open_channel(ChannelOptions { priority: 8, ..ChannelOptions::default() }).unwrap_err();
        assert_eq!(wrong.to_string(), "priority is 8, allowed: 0 to 7");
        caller.abort();
        assert!(answerer.accept_channel().await.is_err(), "the connection was reset");
    });
}

/// A relay in front of an address, and the DSCP of the datagrams that it has passed on to there.
#[cfg(target_os = "linux")]
fn noting_relay(to: std::net::SocketAddr) -> (std::net::SocketAddr, Arc<std::sync::Mutex<Vec<u8>>>) {
    use std::io::IoSliceMut;
    use std::os::fd::AsRawFd;

    use nix::sys::socket::{
        ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, send, sendto, setsockopt, sockopt,
    };

    let front = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let back = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    back.connect(to).unwrap();
    setsockopt(&front, sockopt::IpRecvTos, &true).unwrap();
    let (at, noted) = (front.local_addr().unwrap(), Arc::new(std::sync::Mutex::new(Vec::new())));
    let marks = Arc::clone(&noted);
    std::thread::spawn(move || {
        let answers = back.try_clone().unwrap();
        let mut caller = None;
        loop {
            let (mut buffer, mut control) = (vec![0; 65_536], nix::cmsg_space!(u8));
            let mut parts = [IoSliceMut::new(&mut buffer)];
            let Ok(message) =
                recvmsg::<SockaddrIn>(front.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty())
            else {
                return;
            };
            let (length, from) = (message.bytes, message.address.unwrap());
            for about in message.cmsgs().unwrap() {
                if let ControlMessageOwned::Ipv4Tos(tos) = about {
                    marks.lock().unwrap().push(tos >> 2);
                }
            }
            if caller.replace(from).is_none() {
                let (front, answers) = (front.try_clone().unwrap(), answers.try_clone().unwrap());
                std::thread::spawn(move || {
                    let mut buffer = vec![0; 65_536];
                    while let Ok(length) = answers.recv(&mut buffer) {
                        let _ = sendto(front.as_raw_fd(), &buffer[..length], &from, MsgFlags::empty());
                    }
                });
            }
            let _ = send(back.as_raw_fd(), &buffer[..length], MsgFlags::empty());
        }
    });
    (at, noted)
}

#[cfg(target_os = "linux")]
#[test]
fn datagrams_have_the_dscp_of_their_priority_if_the_configuration_says_so() {
    for (marks, expected) in [(false, [0, 0, 0]), (true, [46, 34, 8])] {
        run(async {
            let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), with_channels()).await.unwrap();
            let (relay, noted) = noting_relay(listener.local_addr());
            let config = Config { marks, ..with_channels() };
            let (caller, answerer) = tokio::join!(Stream::connect(relay, &config), listener.accept());
            let (caller, answerer) = (caller.unwrap(), answerer.unwrap());
            for (priority, expected) in [0, 2, 7].into_iter().zip(expected) {
                let options = ChannelOptions { priority, ..ChannelOptions::default() };
                let channel = caller.open_channel(options).unwrap();
                noted.lock().unwrap().clear();
                channel.send(b"x".to_vec()).await.unwrap();
                let other = answerer.accept_channel().await.unwrap().unwrap();
                assert_eq!(whole(other.recv().await.unwrap().unwrap().content), b"x");
                let found = noted.lock().unwrap().clone();
                assert!(found.contains(&expected), "priority {priority}: {found:?}");
                assert!(marks || found.iter().all(|&dscp| dscp == 0), "{found:?}");
            }
        });
    }
}
