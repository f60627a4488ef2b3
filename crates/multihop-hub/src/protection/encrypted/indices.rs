//! Connection indices: numbers by which datagrams identify their connection. Each path has its own, so that an observer
//! of two paths cannot link them to one connection.
//!
//! The indices of each direction have numbers, from 0. Each end asks the other for the next one before it needs it.
//!
//! # Bytes
//!
//! An index is used on one path only. The indices of an end are numbered from 0, the index of the handshake.
//! The other end requests the next one in advance:
//!
//! ```text
//! one end                               other end
//!    request: n                --------->          gives the index n + 1, and forgets those before n - 1
//!    <---------   spare: n + 1, index
//!    ...
//!    data, index n + 1         --------->          on a new path
//!    <---------   data, index n + 1 of the first end
//!    request: n + 1            --------->
//! ```
//!
//! | | rule |
//! |---|---|
//! | request (8) | number of the index in use. A request ends the use of earlier indices. It leaves 1 s after the handshake and then every second, if there is something to send or received. Without an answer, the index in use serves new paths too |
//! | spare (28) | number, index and *token* (`docs/wire.md#restarts`), sent to the peer's address; a repeated request gets the same. Valid are the requested index, the one before it, and the spare one |
//! | use | An end switches to the spare index when its local address changes, which it checks before sending, at most every 200 ms. It also switches when a segment with a new highest counter and a higher index comes from the peer's address |
//! | new address of the peer | Datagrams to this address have the spare index, and are encrypted a second time with a counter of their own. After the decision whether the peer has moved, the spare index is in use |

use alloc::vec::Vec;
use multihop_core::{Duration, Instant};

use super::message::ResetToken;
use super::reset;
use crate::protection::outcome::{IndexChange, Path};

/// Indices that this end has given to the peer, which uses them in its datagrams.
pub(super) struct GivenIndices {
    /// Number of the current index.
    number: u64,
    /// Index before `current`, under which late datagrams may still arrive.
    previous: Option<u32>,
    /// Oldest index that the peer may still use.
    current: u32,
    /// Index after the current one; `None` until the peer has requested it.
    spare: Option<u32>,
    /// First indices with which datagrams arrived on the second path; they remain valid. A peer without a
    /// spare index starts the second path with the index of the first path.
    second: [Option<u32>; 2],
}

/// Indices that the peer has given to this end.
pub(super) struct TakenIndices {
    /// Number of the current index.
    number: u64,
    /// Number of the newest index in use, on either path.
    newest: u64,
    current: TakenIndex,
    /// Index of the second path.
    second: Option<TakenIndex>,
    /// Index for the next path, which the peer has given.
    spare: Option<TakenIndex>,
    /// Time of the latest request for an index. Before the first request, the time since which a request was
    /// possible.
    asked: Option<Instant>,
}

/// An index that the peer has given to this end.
#[derive(Clone, Copy, Debug)]
pub(super) struct TakenIndex {
    pub(super) index: u32,
    /// Token by which the peer proves that a reset comes from it.
    pub(super) token: ResetToken,
}

impl GivenIndices {
    pub(super) const fn new(index: u32) -> Self {
        Self { number: 0, previous: None, current: index, spare: None, second: [None; 2] }
    }

    /// The index of the handshake, and of the first path.
    pub(super) const fn current(&self) -> u32 {
        self.current
    }

    /// All indices that may still identify the connection in datagrams.
    pub(super) fn all(&self) -> impl Iterator<Item = u32> {
        let three = [self.previous, Some(self.current), self.spare];
        let second = self.second.into_iter().filter(move |index| !three.contains(index));
        three.into_iter().chain(second).flatten()
    }

    /// Keeps an index valid because a datagram of the second path arrived with it.
    pub(super) fn keep_for_second(&mut self, index: u32) {
        if !self.second.contains(&Some(index))
            && let Some(free) = self.second.iter_mut().find(|place| place.is_none())
        {
            *free = Some(index);
        }
    }

    /// Number of an index that this end has given; `None` for an unknown index.
    pub(super) fn number_of(&self, index: u32) -> Option<u64> {
        match index {
            index if index == self.current => Some(self.number),
            index if self.spare == Some(index) => Some(self.number + 1),
            index if self.previous == Some(index) => self.number.checked_sub(1),
            _ => None,
        }
    }

    /// Answers the request for the index after `number`. Indices with smaller numbers are no longer in use by the
    /// peer and are released.
    pub(super) fn on_request(&mut self, number: u64, fresh: u32) -> Option<IndexChange> {
        match self.spare {
            Some(spare) if number.checked_sub(1) == Some(self.number) => {
                let retired =
                    self.previous.replace(self.current).filter(|old| !self.second.contains(&Some(*old)));
                (self.number, self.current, self.spare) = (number, spare, Some(fresh));
                Some(IndexChange { added: Some(fresh), retired })
            }
            Some(_) if number == self.number => Some(IndexChange::default()),
            None if number == self.number => {
                self.spare = Some(fresh);
                Some(IndexChange { added: Some(fresh), retired: None })
            }
            _ => None,
        }
    }

    /// The message that gives the spare index to the peer; `token` derives its token.
    pub(super) fn spare(&self, token: impl FnOnce(u32) -> ResetToken) -> Option<Vec<u8>> {
        let spare = self.spare?;
        Some([&(self.number + 1).to_be_bytes()[..], &spare.to_be_bytes(), &token(spare)].concat())
    }
}

impl TakenIndices {
    pub(super) const fn new(index: TakenIndex) -> Self {
        Self { number: 0, newest: 0, current: index, second: None, spare: None, asked: None }
    }

    /// Whether a reset with this index and token ends the connection: the peer gave the index, and the token
    /// is valid.
    pub(super) fn is_reset_by(&self, index: u32, token: &ResetToken) -> bool {
        let taken = [Some(self.current), self.spare, self.second];
        taken.into_iter().flatten().any(|taken| taken.index == index && reset::is_valid(&taken.token, token))
    }

    /// Index for a datagram on this path.
    pub(super) fn on(&self, path: Path) -> u32 {
        match path {
            Path::Current | Path::First => self.current.index,
            Path::Second => self.second.unwrap_or(self.current).index,
            Path::New => self.spare.unwrap_or(self.current).index,
        }
    }

    /// Request for a spare connection index; `None` if one is left or the last request is recent.
    pub(super) fn request(&mut self, now: Instant) -> Option<[u8; 8]> {
        let asked = *self.asked.get_or_insert(now);
        if self.spare.is_some() || now < asked + PAUSE {
            return None;
        }
        self.asked = Some(now);
        Some(self.newest.to_be_bytes())
    }

    /// Takes the spare index from the peer's answer to the current request.
    pub(super) fn on_spare(&mut self, message: &[u8]) {
        if let Some((number, rest)) = message.split_first_chunk()
            && u64::from_be_bytes(*number) == self.newest + 1
            && let Some((index, token)) = rest.split_first_chunk()
            && let Ok(token) = token.try_into()
        {
            self.spare = Some(TakenIndex { index: u32::from_be_bytes(*index), token });
        }
    }

    /// Uses the spare index from now on, if there is one.
    pub(super) fn use_spare(&mut self) {
        if let Some(spare) = self.spare.take() {
            self.newest += 1;
            (self.number, self.current) = (self.newest, spare);
        }
    }

    /// Whether the second path has a separate index, or a spare index is available for it.
    pub(super) const fn has_second(&self) -> bool {
        self.second.is_some() || self.spare.is_some()
    }

    /// Uses the spare index for the second path from now on, if the path has no index and a spare one exists.
    pub(super) fn use_second(&mut self) {
        if self.second.is_none()
            && let Some(spare) = self.spare.take()
        {
            self.newest += 1;
            self.second = Some(spare);
        }
    }

    /// Switches to the index with the same number as the peer's. A number higher than this end's means that
    /// the peer sends on another path.
    pub(super) fn follow(&mut self, number: u64) {
        if number > self.number {
            self.use_spare();
        }
    }
}

/// Interval between two requests for an index, and between the handshake and the first request: short connections need
/// no spare index.
const PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn number(n: u64) -> Option<[u8; 8]> {
        Some(n.to_be_bytes())
    }

    #[test]
    fn an_index_is_given_when_it_is_asked_for_and_the_one_before_stays_for_late_datagrams() {
        let mut given = GivenIndices::new(100);
        for n in 0..5_u32 {
            let added = Some(101 + n);
            let retired = n.checked_sub(2).map(|n| 100 + n);
            assert_eq!(given.on_request(u64::from(n), 101 + n), Some(IndexChange { added, retired }));
            let token = |index: u32| [index.to_be_bytes()[3]; 16];
            let spare =
                [&u64::from(n + 1).to_be_bytes()[..], &(101 + n).to_be_bytes(), &token(101 + n)].concat();
            assert_eq!(given.spare(token), Some(spare.clone()));
            assert_eq!(
                given.on_request(u64::from(n), 7),
                Some(IndexChange::default()),
                "it repeats its answer"
            );
            assert_eq!(given.spare(token), Some(spare));
            let valid: Vec<_> = (100..101 + n).skip(n.saturating_sub(1) as usize).chain([101 + n]).collect();
            assert_eq!(given.all().collect::<Vec<_>>(), valid);
            assert!(valid.iter().all(|&index| given.number_of(index) == Some(u64::from(index - 100))));
        }
    }

    #[test]
    fn requests_that_make_no_sense_change_nothing() {
        let mut given = GivenIndices::new(100);
        for n in [1, 2, u64::MAX] {
            assert_eq!(given.on_request(n, 7), None);
        }
        given.on_request(0, 101);
        given.on_request(1, 102);
        for n in [0, 3, u64::MAX] {
            assert_eq!(given.on_request(n, 7), None);
        }
        assert_eq!(given.all().collect::<Vec<_>>(), [100, 101, 102]);
        assert_eq!(given.number_of(7), None);
    }

    fn first() -> TakenIndex {
        TakenIndex { index: 100, token: [1; 16] }
    }

    fn spare(number: u64, index: u32) -> Vec<u8> {
        [&number.to_be_bytes()[..], &index.to_be_bytes(), &[2; 16]].concat()
    }

    #[test]
    fn a_reset_has_the_token_of_an_index_in_use_or_spare() {
        let mut taken = TakenIndices::new(first());
        taken.on_spare(&spare(1, 101));
        let all = [(100, 1), (101, 2), (100, 2), (101, 1), (102, 1)];
        let valid = |taken: &TakenIndices| all.map(|(index, byte)| taken.is_reset_by(index, &[byte; 16]));
        assert_eq!(valid(&taken), [true, true, false, false, false]);
        taken.use_spare();
        assert_eq!(valid(&taken), [false, true, false, false, false]);
    }

    #[test]
    fn an_end_asks_once_a_second_until_it_has_a_spare_index() {
        let mut taken = TakenIndices::new(first());
        let asked: Vec<_> = (0..40).filter(|n| taken.request(at(100 * n)).is_some()).collect();
        assert_eq!(asked, [10, 20, 30]);
        taken.on_spare(&spare(1, 101));
        assert_eq!(taken.request(at(9000)), None);
        assert_eq!((taken.on(Path::Current), taken.on(Path::New)), (100, 101));
        taken.use_spare();
        assert_eq!((taken.on(Path::Current), taken.on(Path::New)), (101, 101), "there is no other");
        assert_eq!((taken.request(at(9000)), taken.request(at(9999))), (number(1), None));
        taken.use_spare();
        assert_eq!(taken.on(Path::Current), 101);
    }

    #[test]
    fn the_second_path_keeps_its_index_while_the_first_one_moves() {
        let (mut given, mut taken) = (GivenIndices::new(100), TakenIndices::new(first()));
        let exchange = |given: &mut GivenIndices, taken: &mut TakenIndices, n: u32| {
            let request = taken
                .request(at(10_000 * u64::from(n)))
                .or_else(|| taken.request(at(10_000 * u64::from(n) + 5000)));
            given.on_request(u64::from_be_bytes(request.unwrap()), 100 + n).unwrap();
            taken.on_spare(&given.spare(|_| [2; 16]).unwrap());
        };
        exchange(&mut given, &mut taken, 1);
        assert_eq!(taken.on(Path::Second), 100, "it shares that of the first path");
        given.keep_for_second(100);
        assert!(taken.has_second());
        taken.use_second();
        given.keep_for_second(101);
        for n in 2..9 {
            exchange(&mut given, &mut taken, n);
            taken.use_spare();
            assert_eq!((taken.on(Path::First), taken.on(Path::Second)), (100 + n, 101));
            let all: Vec<_> = given.all().collect();
            assert!([100, 101, 100 + n].iter().all(|index| all.contains(index)), "{all:?}");
            assert!(all.len() <= 5, "{all:?}");
        }
        given.keep_for_second(7);
        assert!(!given.all().any(|index| index == 7), "no more than two");
    }

    #[test]
    fn only_the_next_index_is_taken() {
        let mut taken = TakenIndices::new(first());
        for message in [&spare(0, 7)[..], &spare(2, 7), &[1; 7], &[]] {
            taken.on_spare(message);
        }
        for len in 0..spare(1, 7).len() {
            taken.on_spare(&spare(1, 7)[..len]);
        }
        assert_eq!(taken.on(Path::New), 100);
    }

    #[test]
    fn an_end_follows_the_other_end_to_a_new_path_once() {
        let mut taken = TakenIndices::new(first());
        taken.on_spare(&spare(1, 101));
        taken.follow(0);
        assert_eq!(taken.on(Path::Current), 100);
        taken.follow(1);
        assert_eq!(taken.on(Path::Current), 101);
        taken.on_spare(&spare(2, 102));
        taken.follow(1);
        assert_eq!(taken.on(Path::Current), 101);
    }
}
