use core::fmt;

/// Reason for which a packet was dropped, as results and traces report it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum DropReason {
    /// The MAC reached its retry limit without an acknowledgement.
    RetryLimit,
    /// The interface queue was full.
    QueueFull,
    /// The node had no route to the destination.
    NoRoute,
    /// The next hop's MAC address was not found, or a newer packet replaced the waiting one.
    Arp,
    /// A cached route was out of date.
    Stale,
    /// Lost to the `loss` channel model after the MAC had delivered it, or on a wire that loses packets at random.
    ChannelError,
    /// The packet had crossed as many links as its IP TTL allows.
    Ttl,
    /// Timed out in a routing buffer, or was displaced from it by newer packets.
    BufferTimeout,
    /// The packet was longer than the next link's MTU and must not be fragmented (real programs only).
    TooBig,
    /// The radio of the node was asleep, or its battery empty.
    RadioOff,
    /// The packet was still in transit when the run ended.
    End,
}

impl DropReason {
    /// Every reason, in the order of reports.
    pub const ALL: [Self; 11] = [
        Self::RetryLimit,
        Self::QueueFull,
        Self::NoRoute,
        Self::Arp,
        Self::Stale,
        Self::ChannelError,
        Self::Ttl,
        Self::BufferTimeout,
        Self::TooBig,
        Self::RadioOff,
        Self::End,
    ];

    /// Name of the reason as a key in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RetryLimit => "retry-limit",
            Self::QueueFull => "queue-full",
            Self::NoRoute => "no-route",
            Self::Arp => "arp",
            Self::Stale => "stale",
            Self::ChannelError => "channel-error",
            Self::Ttl => "ttl",
            Self::BufferTimeout => "buffer-timeout",
            Self::TooBig => "too-big",
            Self::RadioOff => "radio-off",
            Self::End => "end",
        }
    }

    /// The code in a trace line, as in the CMU trace format.
    pub const fn code(self) -> &'static str {
        match self {
            Self::RetryLimit => "RET",
            Self::QueueFull => "IFQ",
            Self::NoRoute => "NRTE",
            Self::Arp => "ARP",
            Self::Stale => "STAL",
            Self::ChannelError => "ERR",
            Self::Ttl => "TTL",
            Self::BufferTimeout => "TOUT",
            Self::TooBig => "BIG",
            Self::RadioOff => "OFF",
            Self::End => "END",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
