//! Datagrams of the encrypted protocol: a parsed one emits the same bytes, and both ends of a connection handle
//! loss, modification and replay.

use multihop_hub::fuzzing::{SessionPair, message};

pub fn fuzz(data: &[u8]) {
    message(data);
    let Some((&first, mut rest)) = data.split_first() else { return };
    let mut ends = SessionPair::new(first % 2 == 1);
    while let Some((&[operation, argument], after)) = rest.split_first_chunk() {
        rest = after;
        let end = usize::from(operation >> 7);
        match operation % 8 {
            0 | 1 => ends.send(end, argument),
            2 | 3 => ends.deliver(end, argument, |_| ()),
            4 => ends.wait(argument),
            5 => ends.deliver(end, argument, |bytes| {
                let at = usize::from(argument) % bytes.len().max(1);
                bytes
                    .get_mut(at..)
                    .unwrap_or_default()
                    .iter_mut()
                    .zip(rest)
                    .for_each(|(to, from)| *to = *from);
            }),
            6 => ends.deliver(end, argument, |bytes| bytes.truncate(usize::from(argument))),
            _ => ends.deliver(end, argument, |bytes| *bytes = rest.to_vec()),
        }
    }
}
