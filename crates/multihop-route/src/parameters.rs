//! Kernel parameters that a router needs, restored at its end.

use std::fs;
use std::path::PathBuf;

use crate::prefix::Family;

/// Kernel parameters that were changed, with their former values.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Vec<(PathBuf, String)>);

impl Parameters {
    /// Forwards packets between interfaces.
    pub(crate) fn forward(&mut self, family: Family) {
        match family {
            Family::Ipv4 => {
                self.set("ipv4/ip_forward", "1");
                // All neighbours are on the same link, but not all of them hear each other.
                self.set("ipv4/conf/all/send_redirects", "0");
            }
            Family::Ipv6 => self.set("ipv6/conf/all/forwarding", "1"),
        }
    }

    /// Sets the parameters of one interface over which packets are forwarded.
    pub(crate) fn forward_over(&mut self, interface: &str, family: Family) {
        // IPv6 hosts follow a redirect only if it comes from their gateway's address, which never sends one
        // here.
        if family == Family::Ipv4 {
            self.set(&format!("ipv4/conf/{interface}/send_redirects"), "0");
        }
    }

    /// Follows the segments in IPv6 packets that arrive over an interface.
    pub(crate) fn follow_segments(&mut self, interface: &str) {
        for of in ["all", interface] {
            self.set(&format!("ipv6/conf/{of}/seg6_enabled"), "1");
        }
    }

    /// Accepts packets whose source is currently reached over another interface, or not at all: RFC 3704's
    /// loose mode instead of the strict mode.
    pub(crate) fn accept_from_anywhere(&mut self, interface: &str) {
        let strict = |of: &str| {
            let value = fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{of}/rp_filter"));
            value.is_ok_and(|value| value.trim() == "1")
        };
        if strict("all") || strict(interface) {
            self.set(&format!("ipv4/conf/{interface}/rp_filter"), "2");
        }
    }

    fn set(&mut self, parameter: &str, value: &str) {
        let path = PathBuf::from("/proc/sys/net").join(parameter);
        let Ok(before) = fs::read_to_string(&path) else { return };
        if before.trim() == value || self.0.iter().any(|(known, _)| *known == path) {
            return;
        }
        match fs::write(&path, value) {
            Ok(()) => self.0.push((path, before)),
            Err(error) => tracing::warn!("cannot set {} to {value}: {error}", path.display()),
        }
    }
}

impl Drop for Parameters {
    fn drop(&mut self) {
        for (path, before) in self.0.drain(..).rev() {
            // The interface may no longer exist.
            let _ = fs::write(path, before.trim());
        }
    }
}
