use core::fmt;
use core::net::Ipv4Addr;
use core::ops::Deref;

/// A list of up to 16 addresses, stored inline.
#[derive(Clone, Copy)]
pub struct Addresses {
    len: u8,
    list: [Ipv4Addr; Self::MAX],
}

impl Addresses {
    // DEVIATION dsr-1: Routes have at most 16 addresses, as in ns-2; RFC 4728 permits 63. The longest route has 15
    // links.
    /// The most addresses in a list, ns-2's `MAX_SR_LEN`.
    pub const MAX: usize = 16;

    /// A list without addresses.
    pub const EMPTY: Self = Self { len: 0, list: [Ipv4Addr::UNSPECIFIED; Self::MAX] };

    /// Appends an address; false if the list is full.
    #[must_use]
    pub fn push(&mut self, address: Ipv4Addr) -> bool {
        match self.list.get_mut(usize::from(self.len)) {
            Some(slot) => {
                *slot = address;
                self.len += 1;
                true
            }
            None => false,
        }
    }

    /// Keeps the first `len` addresses.
    pub fn truncate(&mut self, len: usize) {
        self.len = u8::try_from(len).map_or(self.len, |len| len.min(self.len));
    }

    /// A list of these addresses; `None` if there are too many.
    pub fn collect(addresses: impl IntoIterator<Item = Ipv4Addr>) -> Option<Self> {
        let mut list = Self::EMPTY;
        addresses.into_iter().all(|address| list.push(address)).then_some(list)
    }
}

impl Deref for Addresses {
    type Target = [Ipv4Addr];
    fn deref(&self) -> &[Ipv4Addr] {
        &self.list[..usize::from(self.len)]
    }
}

impl Default for Addresses {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Eq for Addresses {}

impl PartialEq for Addresses {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
