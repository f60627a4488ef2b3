use multihop_core::{Duration, Instant};

use super::density::{Density, DensityConfig, Origin};
use super::identify::Levels;

/// The measurements of a receiver: the metrics of Table 1, and the rank of each.
///
/// IDD has a sample for each packet after the first. The other metrics have one sample per interval of half a
/// round trip; an interval ends with the first packet after it. A period without packets is one sample of
/// zero throughput, whatever its length; otherwise a disconnection of a minute would fill the whole history.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct Meter {
    /// Length of one tick of both clocks.
    tick: Duration,
    /// Smoothed round-trip time, half of which is an interval.
    rtt: Option<Duration>,
    last: Option<Packet>,
    /// The newest sending time (T_max in section 2.2).
    newest: u32,
    interval: Option<Interval>,
    idd: Density,
    stt: Density,
    por: Density,
    plr: Density,
    levels: Levels,
    values: Values,
}

/// Properties of an arriving packet. Clocks may wrap, and need not be synchronized.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Packet {
    /// Arrival time of the packet, by the receiver's clock.
    pub(in crate::tcp) arrived: u32,
    /// Sending time of the packet, by the sender's clock.
    pub(in crate::tcp) sent: u32,
    /// Timestamp of the receiver's clock that the packet echoes.
    pub(in crate::tcp) echo: u32,
    /// Whether the packet has data beyond everything that arrived before.
    pub(in crate::tcp) is_furthest: bool,
    /// Number of missing packets before the highest position that has arrived.
    pub(in crate::tcp) missing: u32,
}

/// Newest sample of each metric of an ADTCP receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Values {
    /// Inter-packet delay difference, s.
    pub idd: f64,
    /// Inter-packet arrival delay, s, to which Figure 1 compares IDD.
    pub iad: f64,
    /// Short-term throughput, packets/s.
    pub stt: f64,
    /// Share of packets that arrived out of order, 0 to 1.
    pub por: f64,
    /// Share of packets that were lost, 0 to 1.
    pub plr: f64,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    start: Instant,
    length: Duration,
    /// Number of packets of the interval, at least the first one.
    packets: u32,
    late: u32,
    /// Number of missing segments at the interval's last packet.
    missing: u32,
}

impl Meter {
    pub(in crate::tcp) fn new(config: &DensityConfig, tick: Duration) -> Self {
        let density = |least_range, origin| Density::new(config, least_range, origin);
        Self {
            tick,
            rtt: None,
            last: None,
            newest: 0,
            interval: None,
            idd: density(8.0 * tick.as_secs_f64(), Origin::Centre),
            stt: density(8.0, Origin::Zero),
            por: density(0.25, Origin::Zero),
            plr: density(0.25, Origin::Zero),
            levels: Levels::default(),
            values: Values::default(),
        }
    }

    /// The ranks of the newest samples.
    pub(in crate::tcp) fn levels(&self) -> &Levels {
        &self.levels
    }

    /// Newest sample of each metric.
    pub(in crate::tcp) fn values(&self) -> &Values {
        &self.values
    }

    /// Measures an arriving data packet.
    pub(in crate::tcp) fn on_packet(&mut self, now: Instant, packet: Packet) {
        if let Some(last) = self.last.replace(packet) {
            self.sample_idd(&last, &packet);
            self.sample_rtt(&last, &packet);
        } else {
            self.newest = packet.sent;
        }
        match self.interval {
            None => self.begin_interval(now),
            Some(interval) if now >= interval.end() => {
                self.sample_interval(&interval);
                if now - interval.end() >= interval.length {
                    self.sample_silence();
                }
                self.begin_interval(now);
            }
            Some(_) => {}
        }
        self.count(&packet);
    }

    /// Difference of the travel times of a packet and its predecessor (table 1).
    fn sample_idd(&mut self, last: &Packet, packet: &Packet) {
        let apart = packet.arrived.wrapping_sub(last.arrived).cast_signed();
        let sent_apart = packet.sent.wrapping_sub(last.sent).cast_signed();
        let tick = self.tick.as_secs_f64();
        self.values.iad = f64::from(apart) * tick;
        self.values.idd = (f64::from(apart) - f64::from(sent_apart)) * tick;
        self.levels.idd = self.idd.insert(self.values.idd);
    }

    /// Samples the round trip from an ACK to the first new data that it released: a sender limited by its
    /// window responds to the ACK at once.
    fn sample_rtt(&mut self, last: &Packet, packet: &Packet) {
        let ticks = packet.arrived.wrapping_sub(packet.echo);
        if packet.echo == last.echo || !packet.is_furthest || ticks.cast_signed() <= 0 {
            return;
        }
        let sample = self.tick.saturating_mul(u64::from(ticks));
        self.rtt = Some(match self.rtt {
            None => sample,
            // The moving average is that of the sender (RFC 6298 §2.3).
            Some(rtt) if sample > rtt => rtt + (sample - rtt) / 8,
            Some(rtt) => rtt - (rtt - sample) / 8,
        });
    }

    fn count(&mut self, packet: &Packet) {
        let is_late = packet.sent.wrapping_sub(self.newest).cast_signed() < 0;
        if !is_late {
            self.newest = packet.sent;
        }
        if let Some(interval) = &mut self.interval {
            interval.packets += 1;
            interval.late += u32::from(is_late);
            interval.missing = packet.missing;
        }
    }

    /// Begins an interval of half the round-trip time (section 2.2, footnote 2).
    fn begin_interval(&mut self, now: Instant) {
        let Some(rtt) = self.rtt else { return };
        let length = (rtt / 2).max(self.tick);
        // Intervals follow one another without gaps while none is empty.
        let start = match self.interval {
            Some(before) if now - before.end() < length => before.end(),
            _ => now,
        };
        self.interval = Some(Interval { start, length, packets: 0, late: 0, missing: 0 });
    }

    fn sample_interval(&mut self, interval: &Interval) {
        let packets = f64::from(interval.packets);
        self.values.stt = packets / interval.length.as_secs_f64();
        self.levels.stt = self.stt.insert(self.values.stt);
        self.levels.silent = false;
        self.values.por = f64::from(interval.late) / packets;
        self.values.plr = f64::from(interval.missing) / packets;
        self.levels.por = self.por.insert(self.values.por);
        self.levels.plr = self.plr.insert(self.values.plr);
    }

    fn sample_silence(&mut self) {
        self.values = Values { stt: 0.0, por: 0.0, plr: 0.0, ..self.values };
        let stt = self.stt.insert(0.0);
        self.levels = Levels { stt, silent: self.stt.is_full(), idd: self.levels.idd, ..Levels::default() };
    }
}

impl Interval {
    fn end(&self) -> Instant {
        self.start + self.length
    }
}

#[cfg(test)]
mod tests;
