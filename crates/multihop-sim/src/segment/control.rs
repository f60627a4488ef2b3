//! Names of control segments (SYN, RST, ...) of `mesh` and of user-defined transports.

use multihop_wire::control::Control;

use super::Fields;

/// Kind of the segment, for the column `pkt` of traces.
pub(super) const fn kind(control: &Control) -> &'static str {
    match control {
        Control::Syn(_) => "syn",
        Control::Reset(_) => "rst",
        Control::KeepAlive(_) => "keepalive",
    }
}

/// Appends the fields of the header that the viewer shows.
pub(super) fn fields(control: &Control, fields: &mut Fields) {
    match control {
        Control::Syn(syn) => {
            let flags = if syn.answers.is_some() { "SYN ACK" } else { "SYN" };
            fields.push(("flags", flags.to_owned()));
            fields.push(("connection number", syn.number.to_string()));
            if let Some(number) = syn.answers {
                fields.push(("acknowledges", number.to_string()));
            }
            fields.push(("attempt", syn.attempt.to_string()));
            fields.push(("receive window", syn.window.to_string()));
        }
        Control::Reset(reset) => {
            fields.push(("flags", "RST".to_owned()));
            fields.push(("segment", reset.number.to_string()));
            fields.push(("cause", reset.cause.name().to_owned()));
        }
        Control::KeepAlive(number) => fields.push(("next segment", number.to_string())),
    }
}
