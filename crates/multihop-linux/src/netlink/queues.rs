//! The queues of interfaces ("queueing disciplines"), and what they have sent.

use std::io;

use nix::libc;

use super::message::{Message, Request, attribute, number};

/// A queue of an interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Queue {
    /// Number of the interface to which the queue belongs.
    pub interface: u32,
    /// Kind of the queue, such as `fq_codel`.
    pub kind: String,
    /// Whether all packets of the interface go through the queue.
    pub is_root: bool,
    /// Number of packets that wait now.
    pub packets: u32,
    /// Bytes of the packets that wait now.
    pub bytes: u32,
    /// Bytes that have left the queue since it was made.
    pub sent: u64,
}

/// Queues of all interfaces of this thread's network namespace, without those whose counters the kernel does not
/// report.
pub fn queues() -> io::Result<Vec<Queue>> {
    // struct tcmsg: family, padding, interface (any), handle, parent, information.
    let list = Request::new(libc::RTM_GETQDISC, libc::NLM_F_DUMP).bytes(&[0; HEADER]).dump()?;
    Ok(list.iter().filter_map(queue).collect())
}

fn queue(message: &Message) -> Option<Queue> {
    if message.kind != libc::RTM_NEWQDISC {
        return None;
    }
    let (body, rest) = (&message.body, message.body.get(HEADER..)?);
    let (interface, parent) = (number(body.get(4..8)?)?, number(body.get(12..16)?)?);
    let kind = String::from_utf8_lossy(attribute(rest, TCA_KIND)?).trim_end_matches('\0').to_owned();
    let counts = attribute(rest, TCA_STATS2)?;
    // struct gnet_stats_basic: bytes, packets.
    let sent = attribute(counts, TCA_STATS_BASIC)?.get(..8)?.try_into().ok().map(u64::from_ne_bytes)?;
    // struct gnet_stats_queue: packets, bytes, drops, and more.
    let waiting = attribute(counts, TCA_STATS_QUEUE)?;
    let (packets, bytes) = (number(waiting.get(..4)?)?, number(waiting.get(4..8)?)?);
    Some(Queue { interface, kind, is_root: parent == TC_H_ROOT, packets, bytes, sent })
}

/// Length of `struct tcmsg`, bytes.
const HEADER: usize = 20;

// Constants of linux/rtnetlink.h, linux/pkt_sched.h and linux/gen_stats.h.
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TC_H_ROOT: u32 = u32::MAX;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::message::tests::content;
    use super::*;

    /// A message of a queue of interface 7 that has sent 3000 bytes, where two packets with 1600 bytes wait.
    fn message(parent: u32) -> Message {
        let numbers = |list: &[u32]| list.iter().flat_map(|one| one.to_ne_bytes()).collect::<Vec<_>>();
        let basic = [&3_000_u64.to_ne_bytes()[..], &numbers(&[3, 0])].concat();
        let waiting = numbers(&[2, 1_600, 0, 0, 0]);
        let counts = content(|request| {
            request.attribute(TCA_STATS_BASIC, &basic).attribute(TCA_STATS_QUEUE, &waiting)
        });
        let body = content(|request| {
            request.u32(0).u32(7).u32(0x8001_0000).u32(parent).u32(2);
            request.attribute(TCA_KIND, b"fq_codel\0").attribute(99, &[1]).attribute(TCA_STATS2, &counts)
        });
        Message { kind: libc::RTM_NEWQDISC, body }
    }

    #[test]
    fn queues_are_read() {
        let read = queue(&message(TC_H_ROOT));
        let wanted = Queue {
            interface: 7,
            kind: "fq_codel".into(),
            is_root: true,
            packets: 2,
            bytes: 1_600,
            sent: 3_000,
        };
        assert_eq!(read, Some(wanted.clone()));
        assert_eq!(queue(&message(1)), Some(Queue { is_root: false, ..wanted }));
        assert_eq!(queue(&Message { kind: libc::RTM_DELQDISC, ..message(1) }), None);
    }

    proptest! {
        #[test]
        fn damaged_messages_are_left_out(at in 0..200_usize, byte: u8, cut in 0..200_usize) {
            let Message { kind, mut body } = message(TC_H_ROOT);
            let length = body.len();
            body[at % length] = byte;
            body.truncate(cut);
            let _ = queue(&Message { kind, body });
            let _ = queue(&Message { kind, body: message(1).body[..cut % length].to_vec() });
        }
    }
}
