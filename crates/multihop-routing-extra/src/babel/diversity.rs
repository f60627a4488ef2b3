//! Channels of radios: a link costs less if the following links do not interfere with it
//! (draft-chroboczek-babel-diversity-routing).

use super::config::Diversity;
use super::wire::{Channels, INFINITY, INTERFERING, Update};

/// The link to a neighbour, with the costs of its channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// Cost of the link if the next link of the route interferes with it.
    pub(super) cost: u16,
    /// Channel of the link and the rule that weighs channels; `None` if channels have no effect.
    pub(super) over: Option<(u8, Diversity)>,
}

impl Link {
    /// A link that cannot be used.
    pub(super) const LOST: Self = Self { cost: INFINITY, over: None };

    /// The cost of the link in front of a route over these channels. A link cannot transmit at the same time
    /// as later links that interfere with it. It has the full cost if the next link interferes, and the least
    /// cost if none does. Each hop between the two links halves the difference.
    pub(super) fn cost_before(&self, rest: &Channels) -> u16 {
        let Some((channel, Diversity { factor })) = self.over.filter(|_| self.cost < INFINITY) else {
            return self.cost;
        };
        let nearest = rest.iter().position(|other| interfere(channel, other));
        let share = nearest.map_or(0, |between| MILLION >> between);
        let (least, cost) = (u64::from(factor), u64::from(self.cost));
        let scaled = cost * (least * MILLION + (MILLION - least) * share) / (MILLION * MILLION);
        u16::try_from(scaled.max(1)).expect("at most the full cost")
    }
}

/// The channels of an offered route. An update without channels comes from a neighbour without the extension,
/// whose link counts as interfering with all others, unless the neighbour is the destination itself.
pub(super) fn channels_of(update: &Update) -> Channels {
    let is_destination = update.offer.is_none_or(|offer| offer.metric == 0);
    update.channels.unwrap_or_else(|| Channels::new((!is_destination).then_some(INTERFERING)))
}

/// Whether transmissions on two channels interfere. In the band at 2.4 GHz a channel of 20 MHz extends over
/// four channel numbers.
fn interfere(a: u8, b: u8) -> bool {
    let overlap = a <= LAST_AT_2_4_GHZ && b <= LAST_AT_2_4_GHZ && a.abs_diff(b) < 5;
    a == INTERFERING || b == INTERFERING || a == b || overlap
}

const LAST_AT_2_4_GHZ: u8 = 14;
const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::babel::wire::{Centis, Offer, Prefix, RouterId, Seqno};

    fn cost(channel: u8, rest: &[u8]) -> u16 {
        let link = Link { cost: 256, over: Some((channel, Diversity { factor: 500_000 })) };
        link.cost_before(&Channels::new(rest.iter().copied()))
    }

    #[test]
    fn a_link_costs_less_the_farther_the_next_one_that_interferes() {
        assert_eq!(
            [&[36, 44][..], &[44, 36], &[44, 48, 36], &[44, 48], &[]].map(|rest| cost(36, rest)),
            [256, 192, 160, 128, 128]
        );
        assert_eq!(cost(36, &[INTERFERING]), 256);
        assert_eq!([1, 4, 5, 6, 11].map(|other| cost(1, &[other])), [256, 256, 256, 128, 128]);
        assert_eq!([36, 37].map(|other| cost(14, &[other])), [128, 128], "another band");
    }

    #[test]
    fn lost_links_stay_lost_and_others_cost_something() {
        let over = Some((1, Diversity { factor: 0 }));
        assert_eq!(Link { cost: INFINITY, over }.cost_before(&Channels::default()), INFINITY);
        assert_eq!(Link { cost: 256, over }.cost_before(&Channels::default()), 1);
        assert_eq!(Link { cost: 256, over: None }.cost_before(&Channels::default()), 256);
    }

    #[test]
    fn an_update_without_channels_interferes_unless_its_sender_is_the_destination() {
        let host = core::net::Ipv4Addr::LOCALHOST;
        let offer = |metric| Some(Offer { router_id: RouterId::of(host), metric });
        let update = |metric, channels| Update {
            prefix: Prefix::host(host),
            next_hop: None,
            interval: Centis(1),
            seqno: Seqno(1),
            offer: offer(metric),
            channels,
        };
        let named = Channels::new([1, 6]);
        assert_eq!(channels_of(&update(9, Some(named))), named);
        assert_eq!(channels_of(&update(9, None)), Channels::new([INTERFERING]));
        assert_eq!(channels_of(&update(0, None)), Channels::default());
    }
}
