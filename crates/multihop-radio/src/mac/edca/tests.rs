//! Tests of access categories and transmission opportunities.

use multihop_core::Rng;

use super::*;
use crate::frame::{FrameKind, Outgoing, PacketHandle};
use crate::mac::tests::{Bench, DIFS, PEER, packet, station, us};
use crate::params::{Flavour, RadioParams};

/// Bench with EDCA, standard flavour, no RTS/CTS. Contention windows have no slots, so that a category
/// transmits at the end of its interframe space. `change` modifies these parameters.
fn categories(change: impl FnOnce(&mut [CategoryParams; 4])) -> Bench {
    let at_once = CategoryParams { cw_min: Some(0), cw_max: Some(0), ..CategoryParams::default() };
    let mut edca = EdcaParams { categories: std::array::from_fn(|_| at_once.clone()) };
    change(&mut edca.categories);
    let params = MacParams {
        flavour: Flavour::Standard,
        rts_threshold: None,
        edca: Some(edca),
        ..MacParams::default()
    };
    station(&RadioParams::default(), &params)
}

fn of(category: Category, n: u32) -> Outgoing {
    Outgoing { category, bytes: 200, ..packet(n) }
}

impl Bench {
    /// Receives the ACK of a data frame of 200 bytes, transmitted at `at` for 1104 us; returns the end of the
    /// ACK.
    fn acknowledged(&mut self, at: Instant) -> Instant {
        let end = at + Duration::from_micros(1104 + 10 + 304);
        let ack = self.to_me(FrameKind::Ack, 0);
        self.mac.carrier_busy(end - Duration::from_micros(304), &self.config);
        self.mac.receive(end, &ack, &self.config);
        self.mac.carrier_idle(end, &self.config);
        assert!(self.mac.poll_done().is_some_and(|done| done.delivered));
        self.mac.serve(end, &self.config);
        end
    }
}

#[test]
fn each_category_waits_for_its_own_interframe_space() {
    for (category, slots) in
        [(Category::Background, 7), (Category::BestEffort, 3), (Category::Video, 2), (Category::Voice, 2)]
    {
        let mut b = categories(|_| ());
        b.mac.carrier_busy(us(0), &b.config);
        b.sends(us(10), of(category, 1));
        b.mac.carrier_idle(us(1000), &b.config);
        assert_eq!(b.next_frame().0, us(1000 + 10 + 20 * slots), "{category:?}");
        // After an error the station waits EIFS, with the category's space in place of DIFS.
        let mut b = categories(|_| ());
        b.mac.carrier_busy(us(0), &b.config);
        b.sends(us(10), of(category, 1));
        b.mac.receive_error(us(1000), &b.config);
        b.mac.carrier_idle(us(1000), &b.config);
        assert_eq!(b.next_frame().0, us(1000 + 364 - 50 + 10 + 20 * slots), "{category:?}");
    }
}

#[test]
fn categories_of_one_station_take_turns_by_their_interframe_spaces() {
    let mut b = categories(|all| all.iter_mut().for_each(|c| c.txop = Some(Duration::ZERO)));
    b.mac.carrier_busy(us(0), &b.config);
    for (n, category) in (0..).zip([Category::Background, Category::BestEffort, Category::Voice]) {
        b.sends(us(10), of(category, n));
    }
    assert_eq!(b.mac.packets().count(), 3);
    b.mac.carrier_idle(us(1000), &b.config);
    let mut idle = us(1000);
    for (n, slots) in [(2, 2), (1, 3), (0, 7)] {
        let (at, data) = b.next_frame();
        assert_eq!((data.body, at), (PacketHandle(n), idle + Duration::from_micros(10 + 20 * slots)));
        idle = b.acknowledged(at);
    }
    assert_eq!(b.mac.packets().count(), 0);
}

#[test]
fn of_two_categories_that_are_due_at_once_the_less_urgent_backs_off_in_twice_its_window() {
    let mut drawn = [0; 2];
    for seed in 1..=20 {
        let mut b = categories(|all| all[Category::Video as usize].cw_max = Some(1023));
        b.mac.own.rng = Rng::stream(seed, "test", 0);
        b.mac.carrier_busy(us(0), &b.config);
        b.sends(us(10), of(Category::Video, 1));
        b.sends(us(10), of(Category::Voice, 2));
        b.mac.carrier_idle(us(1000), &b.config);
        let (at, data) = b.next_frame();
        assert_eq!((at, data.body), (us(1050), PacketHandle(2)));
        let idle = b.acknowledged(at);
        let (at, data) = b.next_frame();
        assert_eq!(data.body, PacketHandle(1));
        drawn[usize::try_from(Bench::slots(at, idle, DIFS)).expect("few slots")] += 1;
    }
    assert!(drawn[0] > 3 && drawn[1] > 3, "a window of 0 slots became one of 1: {drawn:?}");
}

#[test]
fn a_category_counts_slots_that_have_begun() {
    let mut b = categories(|_| ());
    b.mac.carrier_busy(us(0), &b.config);
    b.sends(us(10), of(Category::BestEffort, 1));
    b.mac.backoff = Backoff::Paused { slots: 5 };
    b.mac.carrier_idle(us(1000), &b.config);
    // AIFS ends at 1070; slots begin at 1070, 1090 and 1110.
    b.mac.carrier_busy(us(1115), &b.config);
    b.mac.carrier_idle(us(2000), &b.config);
    assert_eq!(b.next_frame().0, us(2000 + 70 + 2 * 20));
}

#[test]
fn packets_follow_each_other_in_a_transmission_opportunity_as_long_as_it_lasts() {
    // The limit of voice in 802.11b is 3264 us. An exchange of 200 bytes takes 1104 + 10 + 304 = 1418 us.
    let mut b = categories(|_| ());
    b.mac.carrier_busy(us(0), &b.config);
    for n in 1..=3 {
        b.sends(us(10), of(Category::Voice, n));
    }
    b.mac.carrier_idle(us(1000), &b.config);
    let (first, data) = b.next_frame();
    assert_eq!(first, us(1050));
    assert_eq!(data.nav, Duration::from_micros(314 + 10 + 1418), "up to the ACK of the next one");
    let idle = b.acknowledged(first);
    let (second, data) = b.next_frame();
    assert_eq!((second, data.body), (idle + Duration::from_micros(10), PacketHandle(2)));
    assert_eq!(data.nav, Duration::from_micros(314), "a third one does not fit into what is left");
    let idle = b.acknowledged(second);
    let (third, data) = b.next_frame();
    assert_eq!((third, data.body), (idle + DIFS, PacketHandle(3)));
}

#[test]
fn a_failure_ends_the_transmission_opportunity() {
    let mut b = categories(|all| all[Category::Voice as usize].cw_max = Some(1023));
    b.mac.carrier_busy(us(0), &b.config);
    for n in 1..=2 {
        b.sends(us(10), of(Category::Voice, n));
    }
    b.mac.carrier_idle(us(1000), &b.config);
    let (first, _) = b.next_frame();
    // The ACK is overdue after SIFS, a slot and the preamble.
    let overdue = first + Duration::from_micros(1104 + 10 + 20 + 192);
    assert_eq!(b.step(), (overdue, None));
    let (again, data) = b.next_frame();
    assert_eq!((data.body, data.retry), (PacketHandle(1), true));
    assert!(
        again >= overdue && again <= overdue + Duration::from_micros(20),
        "the window is 0 or 1 slots: {again}"
    );
}

#[test]
fn the_retry_of_a_packet_that_followed_another_one_is_announced() {
    let mut b = categories(|all| all[Category::Voice as usize].txop = Some(Duration::from_millis(6)));
    b.config.announced_from = 0;
    b.mac.carrier_busy(us(0), &b.config);
    for n in 1..=2 {
        b.sends(us(10), of(Category::Voice, n));
    }
    b.mac.carrier_idle(us(1000), &b.config);
    let (at, rts) = b.next_frame();
    assert_eq!((at, rts.kind), (us(1050), FrameKind::Rts));
    let cts = b.to_me(FrameKind::Cts, 0);
    b.hears(us(1412), us(1716), &cts);
    let (at, data) = b.next_frame();
    assert_eq!((at, data.body), (us(1726), PacketHandle(1)));
    let idle = b.acknowledged(at);
    let (at, data) = b.next_frame();
    assert_eq!((at, data.body), (idle + Duration::from_micros(10), PacketHandle(2)), "without RTS");
    let (_, retry) = b.next_frame();
    assert_eq!(retry.kind, FrameKind::Rts);
}

#[test]
fn a_packet_that_arrives_during_an_exchange_of_another_category_waits_for_its_end() {
    let mut b = categories(|_| ());
    b.sends(us(1000), of(Category::BestEffort, 1));
    let (at, data) = b.next_frame();
    assert_eq!((at, data.body), (us(1000), PacketHandle(1)), "the medium has been idle");
    b.sends(us(1500), of(Category::Voice, 2));
    let idle = b.acknowledged(at);
    let (at, data) = b.next_frame();
    assert_eq!((at, data.body), (idle + DIFS, PacketHandle(2)));
    // The queues of all categories lose the packets to a lost neighbour.
    b.sends(at, of(Category::Background, 3));
    b.sends(at, of(Category::Background, 4));
    b.sends(at, of(Category::Voice, 5));
    let gone: Vec<u32> = b.mac.remove_if(|out| out.to == PEER).iter().map(|out| out.packet.0).collect();
    assert_eq!(gone, [5, 4], "3 is in service");
}
