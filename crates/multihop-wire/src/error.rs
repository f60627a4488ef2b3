use core::fmt;

/// Why bytes are not a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParseError {
    /// The bytes end before the packet does.
    Truncated {
        /// Number of bytes that are present.
        found: usize,
        /// Lowest number of bytes that the format requires.
        needed: usize,
    },
    /// The checksum or frame check sequence does not match the rest.
    Checksum,
    /// A field has an invalid or unsupported value.
    Field {
        /// The field, as its specification calls it.
        name: &'static str,
        /// Value that the field has.
        found: u32,
        /// Values that the field may have, as a text for messages.
        allowed: &'static str,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { found, needed } => {
                write!(f, "{found} bytes where at least {needed} are needed")
            }
            Self::Checksum => f.write_str("checksum does not match"),
            Self::Field { name, found, allowed } => write!(f, "{name} is {found}, allowed: {allowed}"),
        }
    }
}

impl core::error::Error for ParseError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_was_found_and_what_is_allowed() {
        let short = ParseError::Truncated { found: 3, needed: 20 };
        assert_eq!(short.to_string(), "3 bytes where at least 20 are needed");
        let version = ParseError::Field { name: "version", found: 6, allowed: "4" };
        assert_eq!(version.to_string(), "version is 6, allowed: 4");
    }
}
