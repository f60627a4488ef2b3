//! Enums whose variants have a name in results.

/// Declares an enum from rows of description, variant and name.
macro_rules! named {
    ($(#[$about:meta])* $visibility:vis enum $Type:ident {
        $($(#[$row:meta])* $Variant:ident = $name:literal,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        $visibility enum $Type {
            $($(#[$row])* $Variant,)*
        }

        impl $Type {
            /// Name of the value in results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)*
                }
            }
        }
    };
}

pub(crate) use named;
