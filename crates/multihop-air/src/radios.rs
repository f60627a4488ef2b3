//! Radios of the kernel, each in a network namespace of its own.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;

use multihop_linux::netlink::GenericSocket;
use nix::libc;

use crate::hwsim;
use crate::medium::Radio;
use crate::{AirError, Tried};

/// Named network namespaces, which end with this value.
#[derive(Debug, Default)]
pub(crate) struct Namespaces(Vec<String>);

/// Makes a namespace for each node, and the radios in them. The radios end when the socket is closed.
pub(crate) fn make(socket: &mut GenericSocket, radios: &[Radio]) -> Result<Namespaces, AirError> {
    let mut namespaces = Namespaces::default();
    let failed = "find the kernel's Wi-Fi stack (nl80211)";
    let wifi = GenericSocket::open("nl80211").tried(|| failed.to_owned())?;
    let mut wifi = wifi.ok_or_else(|| AirError::Missing("nl80211".to_owned()))?;
    for radio in radios {
        let (node, n) = (radio.node, radio.interface.0);
        let namespace = format!("air-{node}");
        if n == 0 || !namespaces.0.contains(&namespace) {
            namespaces.add(&namespace)?;
        }
        let name = if n == 0 { namespace.clone() } else { format!("{namespace}.{n}") };
        let mut request = socket.request(hwsim::CMD_NEW_RADIO, libc::NLM_F_ACK);
        hwsim::new_radio(&mut request, &name, radio.address);
        socket.ask(&mut request).tried(|| format!("make the radio {name}"))?;
        move_radio(&mut wifi, &name, &namespace).tried(|| format!("move the radio {name}"))?;
    }
    Ok(namespaces)
}

fn move_radio(wifi: &mut GenericSocket, radio: &str, namespace: &str) -> io::Result<()> {
    let index = std::fs::read_to_string(format!("/sys/class/ieee80211/{radio}/index"))?;
    let index: u32 = index.trim().parse().map_err(io::Error::other)?;
    let place = File::open(format!("/run/netns/{namespace}"))?;
    let mut request = wifi.request(NL80211_CMD_SET_WIPHY_NETNS, libc::NLM_F_ACK);
    request.attribute(NL80211_ATTR_WIPHY, &index.to_ne_bytes());
    request.attribute(NL80211_ATTR_NETNS_FD, &place.as_raw_fd().to_ne_bytes());
    wifi.ask(&mut request).map(drop)
}

impl Namespaces {
    fn add(&mut self, name: &str) -> Result<(), AirError> {
        if Path::new("/run/netns").join(name).exists() {
            remove_leftover(name)?;
        }
        ip(&["netns", "add", name])?;
        self.0.push(name.to_owned());
        ip(&["-n", name, "link", "set", "lo", "up"]).map(drop)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.0 {
            // Nothing can be done about a namespace that somebody else has removed.
            let _ = ip(&["netns", "del", name]);
        }
    }
}

/// Removes the namespace of a run that was killed, unless programs run in the namespace.
fn remove_leftover(name: &str) -> Result<(), AirError> {
    // A namespace whose programs cannot be listed is none: the process that made it was killed before it was mounted.
    let programs = ip(&["netns", "pids", name]).unwrap_or_default();
    let programs = programs.split_whitespace().collect::<Vec<_>>().join(", ");
    if programs.is_empty() {
        return ip(&["netns", "del", name]).map(drop);
    }
    Err(AirError::Used { name: name.to_owned(), programs })
}

/// Runs `ip`, and returns what it prints.
fn ip(words: &[&str]) -> Result<String, AirError> {
    let action = || format!("run ip {}", words.join(" "));
    let done = Command::new("ip").args(words).output().tried(action)?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(io::Error::other(String::from_utf8_lossy(&done.stderr).trim().to_owned())).tried(action)
}

// Constants of linux/nl80211.h.
const NL80211_CMD_SET_WIPHY_NETNS: u8 = 49;
const NL80211_ATTR_WIPHY: u16 = 1;
const NL80211_ATTR_NETNS_FD: u16 = 219;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leftover_namespace_is_removed_unless_programs_run_in_it() {
        let name = format!("air-test-{}", std::process::id());
        if let Err(error) = ip(&["netns", "add", &name]) {
            println!("skipped: named network namespaces need root and the command ip: {error}");
            return;
        }
        let words = ["netns", "exec", &name, "cat"];
        let mut program = Command::new("ip").args(words).stdin(std::process::Stdio::piped()).spawn().unwrap();
        while ip(&["netns", "pids", &name]).unwrap().is_empty() {}
        let refused = remove_leftover(&name).unwrap_err().to_string();
        assert!(refused.ends_with(&format!("then: ip netns del {name}")), "{refused}");
        // The end of its input ends the program.
        drop(program.stdin.take());
        program.wait().unwrap();
        let mut namespaces = Namespaces::default();
        namespaces.add(&name).unwrap();
        drop(namespaces);
        assert!(!Path::new("/run/netns").join(name).exists());
    }
}
