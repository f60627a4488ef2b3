//! 802.11 frames of an ad hoc network (IEEE 802.11-2007 §7.2), and LLC/SNAP inside data frames.
//!
//! Data frames in captures always have LLC/SNAP, because only that tells IP from ARP. If the scenario's accounting
//! leaves it out, as ns-2 does, data frames in the capture are 8 bytes longer than the simulated ones. Times and
//! duration fields are then those of the simulated frame; the frame check sequence is that of the captured bytes. RTS,
//! CTS and ACK also appear in their standard formats, whatever size the accounting assumes.

use alloc::vec::Vec;

use crc32fast::hash as crc32;

use crate::ParseError;
use crate::reader::Reader;

/// MAC address of all stations, to which broadcast frames go.
pub const BROADCAST: [u8; 6] = [0xff; 6];

/// The BSSID of all data frames.
pub const BSSID: [u8; 6] = *b"\x02multi";

/// An 802.11 frame, from frame control to frame check sequence.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Frame {
    /// Request to send (RTS): reserves the channel for a data frame.
    Rts {
        /// Remaining time of the exchange after this frame, microseconds.
        duration: u16,
        /// MAC address of the station that shall answer with a CTS.
        receiver: [u8; 6],
        /// MAC address of the station that wants to send data.
        transmitter: [u8; 6],
    },
    /// Clear to send (CTS): grants the channel to the sender of an RTS.
    Cts {
        /// Remaining time of the exchange after this frame, microseconds.
        duration: u16,
        /// MAC address of the station that may now send.
        receiver: [u8; 6],
    },
    /// Acknowledgement of one data frame.
    Ack {
        /// Remaining time of the exchange after this frame, microseconds.
        duration: u16,
        /// MAC address of the station whose frame is acknowledged.
        receiver: [u8; 6],
    },
    /// A data frame, with one packet or several (A-MSDU).
    Data(Data),
    /// Compressed block ACK: reports which of 64 or 256 data frames have arrived.
    BlockAck {
        /// Remaining time of the exchange after this frame, microseconds.
        duration: u16,
        /// MAC address of the station whose frames are acknowledged.
        receiver: [u8; 6],
        /// MAC address of the station that acknowledges.
        transmitter: [u8; 6],
        /// Traffic identifier, at most 15.
        tid: u8,
        /// First sequence number that the bitmap reports.
        start: u16,
        /// Bitmap of received segments: bit n stands for `start` + n.
        received: Received,
    },
    /// Request for a compressed block ACK.
    BlockAckRequest {
        /// Remaining time of the exchange after this frame, microseconds.
        duration: u16,
        /// MAC address of the station that shall send the block ACK.
        receiver: [u8; 6],
        /// MAC address of the station that requests the block ACK.
        transmitter: [u8; 6],
        /// Traffic identifier, at most 15.
        tid: u8,
        /// The oldest sequence number that may still be sent.
        start: u16,
    },
}

/// Bitmap of a compressed block ACK: bit `i` is set if the frame with sequence number `start + i` has arrived.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Received {
    /// Bitmap of 64 sequence numbers.
    Short(u64),
    /// Bitmap of 256 sequence numbers.
    Long([u64; 4]),
}

/// A data frame from one station of an ad hoc network to another.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Data {
    /// Whether the frame is a retransmission.
    pub retry: bool,
    /// Remaining time of the exchange after this frame, microseconds.
    pub duration: u16,
    /// MAC address of the station that receives the frame.
    pub receiver: [u8; 6],
    /// MAC address of the station that transmits the frame.
    pub transmitter: [u8; 6],
    /// Sequence number, modulo 4096.
    pub sequence: u16,
    /// Content of a QoS data frame, one packet or several (A-MSDU); `None` in other data frames.
    pub qos: Option<Qos>,
    /// Traffic identifier of a QoS data frame, at most 15; otherwise 0.
    pub tid: u8,
    /// Frame body: in captures LLC/SNAP and a packet, or the subframes of an A-MSDU.
    pub body: Vec<u8>,
}

/// The content of a QoS data frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Qos {
    /// One packet, as in an ordinary data frame.
    Single,
    /// Several packets (A-MSDU), see [`push_subframe`].
    Several,
}

/// Appends a packet to the body of an A-MSDU. All subframes but the last are padded to a multiple of 4 bytes.
///
/// # Panics
///
/// If the packet has more than 65,535 bytes.
pub fn push_subframe(receiver: [u8; 6], transmitter: [u8; 6], packet: &[u8], body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend_from_slice(&receiver);
    body.extend_from_slice(&transmitter);
    let len = u16::try_from(packet.len()).expect("a packet in an A-MSDU is short");
    body.extend_from_slice(&len.to_be_bytes());
    body.extend_from_slice(packet);
}

/// LLC and SNAP headers in front of a packet (RFC 1042).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Snap {
    /// Protocol of the packet.
    pub ethertype: u16,
}

impl Frame {
    /// Parses a frame with its frame check sequence. The BSSID and the power management bits are ignored.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let Some((frame, fcs)) = bytes.split_last_chunk() else {
            return Err(ParseError::Truncated { found: bytes.len(), needed: ACK_LEN });
        };
        let mut r = Reader::new(frame);
        let control = r.u16()?;
        let duration = u16::from_le_bytes(r.array()?);
        let receiver = r.array()?;
        if crc32(frame) != u32::from_le_bytes(*fcs) {
            return Err(ParseError::Checksum);
        }
        match control & !IGNORED {
            RTS => Ok(Self::Rts { duration, receiver, transmitter: r.array()? }),
            CTS => Ok(Self::Cts { duration, receiver }),
            ACK => Ok(Self::Ack { duration, receiver }),
            BLOCK_ACK => {
                let transmitter = r.array()?;
                let tid = block_ack_tid(&mut r)?;
                let control = u16::from_le_bytes(r.array()?);
                let (start, received) = (control >> 4, Received::parse(control & FRAGMENT, &mut r)?);
                Ok(Self::BlockAck { duration, receiver, transmitter, tid, start, received })
            }
            BLOCK_ACK_REQUEST => {
                let transmitter = r.array()?;
                let tid = block_ack_tid(&mut r)?;
                let start = u16::from_le_bytes(r.array()?) >> 4;
                Ok(Self::BlockAckRequest { duration, receiver, transmitter, tid, start })
            }
            _ if control & !(IGNORED | RETRY | QOS) == DATA => {
                Data::parse(control, duration, receiver, r).map(Self::Data)
            }
            _ => {
                let (name, found) = ("frame control", u32::from(control));
                let allowed = "RTS, CTS, ACK, block ACK, its request or ad hoc data, unfragmented";
                Err(ParseError::Field { name, found, allowed })
            }
        }
    }

    /// Appends the frame and its check sequence.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        match self {
            Self::Rts { duration, receiver, transmitter } => {
                emit_start(RTS, *duration, *receiver, out);
                out.extend_from_slice(transmitter);
            }
            Self::Cts { duration, receiver } => emit_start(CTS, *duration, *receiver, out),
            Self::Ack { duration, receiver } => emit_start(ACK, *duration, *receiver, out),
            Self::Data(data) => data.emit(out),
            Self::BlockAck { duration, receiver, transmitter, tid, start, received } => {
                emit_start(BLOCK_ACK, *duration, *receiver, out);
                out.extend_from_slice(transmitter);
                out.extend_from_slice(&block_ack_control(*tid).to_le_bytes());
                out.extend_from_slice(&(start << 4 | received.fragment()).to_le_bytes());
                received.words().iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
            }
            Self::BlockAckRequest { duration, receiver, transmitter, tid, start } => {
                emit_start(BLOCK_ACK_REQUEST, *duration, *receiver, out);
                out.extend_from_slice(transmitter);
                out.extend_from_slice(&block_ack_control(*tid).to_le_bytes());
                out.extend_from_slice(&(start << 4).to_le_bytes());
            }
        }
        let fcs = crc32(&out[start..]);
        out.extend_from_slice(&fcs.to_le_bytes());
    }
}

impl Data {
    fn parse(control: u16, duration: u16, receiver: [u8; 6], mut r: Reader<'_>) -> Result<Self, ParseError> {
        let retry = control & RETRY != 0;
        let transmitter = r.array()?;
        let _bssid: [u8; 6] = r.array()?;
        let sequence_control = u16::from_le_bytes(r.array()?);
        let fragment = sequence_control & FRAGMENT;
        if fragment != 0 {
            let (name, found) = ("fragment number", u32::from(fragment));
            return Err(ParseError::Field { name, found, allowed: "0, the only fragment" });
        }
        let (qos, tid) = match control & QOS {
            0 => (None, 0),
            _ => Qos::parse(u16::from_le_bytes(r.array()?)).map(|(qos, tid)| (Some(qos), tid))?,
        };
        let body = r.rest().to_vec();
        Ok(Self { retry, duration, receiver, transmitter, sequence: sequence_control >> 4, qos, tid, body })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut control = DATA;
        if self.retry {
            control |= RETRY;
        }
        if self.qos.is_some() {
            control |= QOS;
        }
        emit_start(control, self.duration, self.receiver, out);
        out.extend_from_slice(&self.transmitter);
        out.extend_from_slice(&BSSID);
        out.extend_from_slice(&(self.sequence << 4).to_le_bytes());
        if let Some(qos) = self.qos {
            let several = if qos == Qos::Several { SEVERAL } else { 0 };
            let control = several | u16::from(self.tid) & MAX_TID;
            out.extend_from_slice(&control.to_le_bytes());
        }
        out.extend_from_slice(&self.body);
    }
}

impl Qos {
    /// Content and traffic identifier of a QoS control field.
    fn parse(control: u16) -> Result<(Self, u8), ParseError> {
        let tid = control.to_le_bytes()[0] & MAX_TID.to_le_bytes()[0];
        match control & !MAX_TID {
            0 => Ok((Self::Single, tid)),
            SEVERAL => Ok((Self::Several, tid)),
            _ => {
                let (name, found) = ("QoS control", u32::from(control));
                let allowed = "a traffic identifier, and 0x80 if an A-MSDU is present";
                Err(ParseError::Field { name, found, allowed })
            }
        }
    }
}

impl Received {
    /// Reads the bitmap of a block ACK. In place of a fragment number, the field with the starting number has the size
    /// of the bitmap (IEEE 802.11ax-2021, table 9-34).
    fn parse(fragment: u16, r: &mut Reader<'_>) -> Result<Self, ParseError> {
        let mut word = || r.array().map(u64::from_le_bytes);
        match fragment {
            0 => Ok(Self::Short(word()?)),
            LONG_BITMAP => Ok(Self::Long([word()?, word()?, word()?, word()?])),
            _ => {
                let (name, found) = ("block ACK bitmap", u32::from(fragment));
                Err(ParseError::Field { name, found, allowed: "0, 64 bits, or 4, 256 bits" })
            }
        }
    }

    fn fragment(&self) -> u16 {
        match self {
            Self::Short(_) => 0,
            Self::Long(_) => LONG_BITMAP,
        }
    }

    fn words(&self) -> &[u64] {
        match self {
            Self::Short(word) => core::slice::from_ref(word),
            Self::Long(words) => words,
        }
    }
}

/// The control field of a block ACK or of its request.
fn block_ack_control(tid: u8) -> u16 {
    COMPRESSED | (u16::from(tid) & MAX_TID) << TID_SHIFT
}

/// The traffic identifier in the control field of a block ACK or of its request.
fn block_ack_tid(r: &mut Reader<'_>) -> Result<u8, ParseError> {
    let control: [u8; 2] = r.array()?;
    let tid = control[1] >> (TID_SHIFT - 8);
    let control = u16::from_le_bytes(control);
    if control == block_ack_control(tid) {
        return Ok(tid);
    }
    let (name, found) = ("block ACK control", u32::from(control));
    Err(ParseError::Field { name, found, allowed: "4, compressed, and a traffic identifier" })
}

impl Snap {
    /// Length of the LLC and SNAP headers, bytes.
    pub const LEN: usize = 8;

    /// Splits the body of a data frame into headers and packet.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), ParseError> {
        let mut r = Reader::new(bytes);
        let llc = r.u32()?;
        let organisation = r.u16()?;
        if llc != LLC_SNAP || organisation != 0 {
            let (name, allowed) = ("LLC/SNAP", "0xaaaa0300 and 0, RFC 1042");
            return Err(ParseError::Field { name, found: llc, allowed });
        }
        let ethertype = r.u16()?;
        Ok((Self { ethertype }, r.rest()))
    }

    /// Appends the headers; the packet follows.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&LLC_SNAP.to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&self.ethertype.to_be_bytes());
    }
}

/// The three fields that all frames begin with.
fn emit_start(control: u16, duration: u16, receiver: [u8; 6], out: &mut Vec<u8>) {
    out.extend_from_slice(&control.to_be_bytes());
    out.extend_from_slice(&duration.to_le_bytes());
    out.extend_from_slice(&receiver);
}

// Frame control, both bytes in the order they are sent: subtype, type and version; then flags.
const RTS: u16 = 0xb400;
const CTS: u16 = 0xc400;
const ACK: u16 = 0xd400;
const BLOCK_ACK_REQUEST: u16 = 0x8400;
const BLOCK_ACK: u16 = 0x9400;
const DATA: u16 = 0x0800;
/// The subtype's bit of data frames with a QoS control field.
const QOS: u16 = 0x8000;
/// The flag of a retransmission.
const RETRY: u16 = 0x0008;
/// Bit of QoS control that marks an A-MSDU.
const SEVERAL: u16 = 0x0080;
/// Bits of a block ACK's control field for a compressed bitmap.
const COMPRESSED: u16 = 0x0004;
/// The size of a bitmap of 256 bits.
const LONG_BITMAP: u16 = 0x0004;
/// The largest traffic identifier, and its bits in QoS control.
const MAX_TID: u16 = 0x000f;
/// The place of the traffic identifier in the control field of a block ACK.
const TID_SHIFT: u32 = 12;
/// Bits that are ignored: power management and more data.
const IGNORED: u16 = 0x0030;

/// Length of the shortest frame.
const ACK_LEN: usize = 14;
/// The fragment number in sequence control.
const FRAGMENT: u16 = 0x000f;
/// First bytes of a data frame's body: DSAP and SSAP of SNAP, unnumbered information, and the first byte of the
/// organisation.
const LLC_SNAP: u32 = 0xaaaa_0300;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::damage;

    fn frame() -> impl Strategy<Value = Frame> {
        prop_oneof![
            any::<(u16, [u8; 6], [u8; 6])>().prop_map(|(duration, receiver, transmitter)| Frame::Rts {
                duration,
                receiver,
                transmitter
            }),
            any::<(u16, [u8; 6])>().prop_map(|(duration, receiver)| Frame::Cts { duration, receiver }),
            any::<(u16, [u8; 6])>().prop_map(|(duration, receiver)| Frame::Ack { duration, receiver }),
            (any::<(bool, u16, [u8; 6], [u8; 6])>(), 0..4096_u16, qos(), any::<Vec<u8>>()).prop_map(
                |((retry, duration, receiver, transmitter), sequence, (qos, tid), body)| {
                    Frame::Data(Data { retry, duration, receiver, transmitter, sequence, qos, tid, body })
                }
            ),
            (any::<(u16, [u8; 6], [u8; 6])>(), received(), 0..4096_u16, 0..16_u8).prop_map(
                |((duration, receiver, transmitter), received, start, tid)| Frame::BlockAck {
                    duration,
                    receiver,
                    transmitter,
                    tid,
                    start,
                    received
                }
            ),
            (any::<(u16, [u8; 6], [u8; 6])>(), 0..4096_u16, 0..16_u8).prop_map(
                |((duration, receiver, transmitter), start, tid)| Frame::BlockAckRequest {
                    duration,
                    receiver,
                    transmitter,
                    tid,
                    start
                }
            ),
        ]
    }

    fn received() -> impl Strategy<Value = Received> {
        prop_oneof![any::<u64>().prop_map(Received::Short), any::<[u64; 4]>().prop_map(Received::Long)]
    }

    /// Content and traffic identifier of a data frame.
    fn qos() -> impl Strategy<Value = (Option<Qos>, u8)> {
        let content = prop_oneof![Just(Qos::Single), Just(Qos::Several)];
        prop_oneof![Just((None, 0)), (content.prop_map(Some), 0..16_u8)]
    }

    fn emitted(frame: &Frame) -> Vec<u8> {
        let mut out = Vec::new();
        frame.emit(&mut out);
        out
    }

    fn with_fcs(frame: &[u8]) -> Vec<u8> {
        [frame, &crc32(frame).to_le_bytes()].concat()
    }

    const X: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const Y: [u8; 6] = [2, 0, 0, 0, 0, 2];

    #[test]
    fn known_bytes() {
        let rts = emitted(&Frame::Rts { duration: 0x0102, receiver: X, transmitter: Y });
        assert_eq!(rts[..16], [0xb4, 0, 2, 1, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
        assert_eq!(rts.len(), 20);
        assert_eq!(emitted(&Frame::Cts { duration: 0, receiver: X })[..2], [0xc4, 0]);
        let ack = emitted(&Frame::Ack { duration: 0, receiver: X });
        assert_eq!((&ack[..2], ack.len()), (&[0xd4, 0][..], 14));
        let data = Data {
            retry: true,
            duration: 314,
            receiver: X,
            transmitter: Y,
            sequence: 0xabc,
            qos: None,
            tid: 0,
            body: vec![7],
        };
        let expected =
            [&[0x08, 0x08, 0x3a, 0x01][..], &X, &Y, &[0x02, b'm', b'u', b'l', b't', b'i', 0xc0, 0xab, 7]]
                .concat();
        assert_eq!(emitted(&Frame::Data(data.clone())), with_fcs(&expected));
        let several = emitted(&Frame::Data(Data { retry: false, qos: Some(Qos::Several), tid: 5, ..data }));
        assert_eq!((&several[..2], &several[24..27]), (&[0x88, 0][..], &[0x85, 0, 7][..]));
    }

    #[test]
    fn known_bytes_of_block_acks() {
        let (duration, receiver, transmitter, tid, start) = (0, X, Y, 6, 0xabc);
        let ack = Frame::BlockAck {
            duration,
            receiver,
            transmitter,
            tid,
            start,
            received: Received::Short(0x8001),
        };
        let expected =
            [&[0x94, 0, 0, 0][..], &X, &Y, &[4, 0x60, 0xc0, 0xab, 1, 0x80, 0, 0, 0, 0, 0, 0]].concat();
        assert_eq!(emitted(&ack), with_fcs(&expected));
        assert_eq!(emitted(&ack).len(), 32);
        let received = Received::Long([0x8001, 0, 0, 0x02 << 56]);
        let long = emitted(&Frame::BlockAck { duration, receiver, transmitter, tid, start, received });
        assert_eq!((&long[16..20], &long[20..22], long[51]), (&[4, 0x60, 0xc4, 0xab][..], &[1, 0x80][..], 2));
        assert_eq!(long.len(), 56);
        let mut other = long[..52].to_vec();
        other[18] = 0xc2;
        let (name, allowed) = ("block ACK bitmap", "0, 64 bits, or 4, 256 bits");
        assert_eq!(Frame::parse(&with_fcs(&other)), Err(ParseError::Field { name, found: 2, allowed }));
        let request = Frame::BlockAckRequest { duration, receiver, transmitter, tid, start };
        let expected = [&[0x84, 0, 0, 0][..], &X, &Y, &[4, 0x60, 0xc0, 0xab]].concat();
        assert_eq!(emitted(&request), with_fcs(&expected));
        let mut multiple = expected;
        multiple[16] = 6;
        let error = ParseError::Field {
            name: "block ACK control",
            found: 0x6006,
            allowed: "4, compressed, and a traffic identifier",
        };
        assert_eq!(Frame::parse(&with_fcs(&multiple)), Err(error));
    }

    #[test]
    fn subframes_begin_at_multiples_of_four_bytes() {
        let mut body = Vec::new();
        push_subframe(X, Y, b"hello", &mut body);
        push_subframe(X, Y, b"you", &mut body);
        let expected = [&X[..], &Y, &[0, 5], b"hello", &[0], &X, &Y, &[0, 3], b"you"].concat();
        assert_eq!(body, expected);
    }

    #[test]
    fn refusals_say_why() {
        let mut frame = [0x08, 0x01].to_vec();
        frame.extend([0; 22]);
        let allowed = "RTS, CTS, ACK, block ACK, its request or ad hoc data, unfragmented";
        let to_ds = ParseError::Field { name: "frame control", found: 0x0801, allowed };
        assert_eq!(Frame::parse(&with_fcs(&frame)), Err(to_ds));
        frame[1] = 0x30;
        assert_eq!(Frame::parse(&with_fcs(&frame)), Ok(Frame::Data(Data::default())));
        assert_eq!(Frame::parse(&frame), Err(ParseError::Checksum));
        frame[22] = 0x01;
        let fragment =
            ParseError::Field { name: "fragment number", found: 1, allowed: "0, the only fragment" };
        assert_eq!(Frame::parse(&with_fcs(&frame)), Err(fragment));
        assert_eq!(Frame::parse(&[1, 2, 3]), Err(ParseError::Truncated { found: 3, needed: 14 }));
        let allowed = "0xaaaa0300 and 0, RFC 1042";
        let ip = ParseError::Field { name: "LLC/SNAP", found: 0x4500_0014, allowed };
        assert_eq!(Snap::parse(&[0x45, 0, 0, 20, 0, 0, 0, 0]), Err(ip));
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(frame in frame()) {
            prop_assert_eq!(Frame::parse(&emitted(&frame)), Ok(frame));
        }

        #[test]
        fn parse_undoes_emit_of_snap(ethertype in any::<u16>(), packet in any::<Vec<u8>>()) {
            let mut body = Vec::new();
            Snap { ethertype }.emit(&mut body);
            prop_assert_eq!(body.len(), Snap::LEN);
            body.extend(&packet);
            prop_assert_eq!(Snap::parse(&body), Ok((Snap { ethertype }, &packet[..])));
        }

        #[test]
        fn any_wrong_byte_is_detected(frame in frame(), at in any::<prop::sample::Index>(), by in 1..=255_u8) {
            let mut bytes = emitted(&frame);
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            prop_assert_eq!(Frame::parse(&bytes), Err(ParseError::Checksum));
        }

        #[test]
        fn parse_never_panics(bytes in any::<Vec<u8>>(), frame in frame(), damage in damage()) {
            let _ = (Frame::parse(&bytes), Snap::parse(&bytes));
            let mut damaged = emitted(&frame);
            damage.apply(&mut damaged);
            let _ = Frame::parse(&damaged);
            let _ = Frame::parse(&with_fcs(&damaged));
        }
    }
}
