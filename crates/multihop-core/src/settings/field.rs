//! Types of fields that a key can set.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::{Allowed, Value};
use crate::ids::FlowId;
use crate::time::Duration;
use crate::units::BitRate;

/// A type of field that a key can set.
///
/// Numbers, times, texts, lists of these and `Option` implement `Field`; an enumeration of words derives it. A type
/// whose values have a syntax of their own in documents implements it by hand.
pub trait Field: Sized {
    /// Bounds that a key gives to its values, such as a range; `()` if the type has no bounds.
    type Bounds;

    /// The values that the bounds allow.
    fn allowed(bounds: &Self::Bounds) -> Allowed;

    /// The value of the field as a user writes it, to show it as a default; `None` to show no default.
    fn value(&self) -> Option<Value>;

    /// The field's value for an allowed value that a user has written.
    fn of_value(value: Value) -> Self;
}

impl Field for bool {
    type Bounds = ();

    fn allowed((): &()) -> Allowed {
        Allowed::Switch
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Switch(*self))
    }

    fn of_value(value: Value) -> Self {
        value == Value::Switch(true)
    }
}

/// Whole numbers, whose bounds must be values of the type.
macro_rules! whole {
    ($($type:ty)*) => {
        $(impl Field for $type {
            type Bounds = RangeInclusive<u64>;

            fn allowed(bounds: &Self::Bounds) -> Allowed {
                bounds.clone().into()
            }

            fn value(&self) -> Option<Value> {
                u64::try_from(*self).ok().map(Value::Whole)
            }

            fn of_value(value: Value) -> Self {
                Self::try_from(value.into_whole()).expect("bounds that fit the field")
            }
        })*
    };
}

whole!(u8 u16 u32 u64 usize);

impl Field for f64 {
    type Bounds = RangeInclusive<Self>;

    fn allowed(bounds: &Self::Bounds) -> Allowed {
        bounds.clone().into()
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Number(*self))
    }

    fn of_value(value: Value) -> Self {
        value.into_number()
    }
}

/// Times in seconds, rounded to the nearest nanosecond.
impl Field for Duration {
    type Bounds = RangeInclusive<f64>;

    fn allowed(bounds: &Self::Bounds) -> Allowed {
        bounds.clone().into()
    }

    fn value(&self) -> Option<Value> {
        (*self <= LONGEST_SHOWN).then(|| Value::Number(self.as_secs_f64()))
    }

    fn of_value(value: Value) -> Self {
        Self::from_secs_f64(value.into_number())
    }
}

/// Bit rates in kb/s, rounded to whole bits per second.
impl Field for BitRate {
    type Bounds = RangeInclusive<f64>;

    fn allowed(bounds: &Self::Bounds) -> Allowed {
        bounds.clone().into()
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Number(self.as_f64() / 1e3))
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    fn of_value(value: Value) -> Self {
        Self((value.into_number() * 1e3 + 0.5).max(1.0) as u64)
    }
}

impl Field for FlowId {
    type Bounds = RangeInclusive<u64>;

    fn allowed(bounds: &Self::Bounds) -> Allowed {
        bounds.clone().into()
    }

    fn value(&self) -> Option<Value> {
        self.0.value()
    }

    fn of_value(value: Value) -> Self {
        Self(u32::of_value(value))
    }
}

/// Texts of up to so many characters, but not an empty one.
impl Field for String {
    type Bounds = usize;

    fn allowed(longest: &usize) -> Allowed {
        Allowed::Text(*longest)
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Text(self.clone()))
    }

    fn of_value(value: Value) -> Self {
        value.into_text()
    }
}

/// An optional value: `None` unless the document has the key.
impl<T: Field> Field for Option<T> {
    type Bounds = T::Bounds;

    fn allowed(bounds: &Self::Bounds) -> Allowed {
        T::allowed(bounds)
    }

    fn value(&self) -> Option<Value> {
        self.as_ref()?.value()
    }

    fn of_value(value: Value) -> Self {
        Some(T::of_value(value))
    }
}

/// Lists of any length; the bounds are those of each element.
impl<T: Field> Field for Vec<T> {
    type Bounds = T::Bounds;

    fn allowed(bounds: &Self::Bounds) -> Allowed {
        T::allowed(bounds).list()
    }

    fn value(&self) -> Option<Value> {
        self.iter().map(T::value).collect::<Option<_>>().map(Value::List)
    }

    fn of_value(value: Value) -> Self {
        value.into_list().into_iter().map(T::of_value).collect()
    }
}

/// Lists of this length; the bounds are those of each element.
impl<T: Field, const N: usize> Field for [T; N] {
    type Bounds = T::Bounds;

    fn allowed(bounds: &Self::Bounds) -> Allowed {
        T::allowed(bounds).array(N)
    }

    fn value(&self) -> Option<Value> {
        self.iter().map(T::value).collect::<Option<_>>().map(Value::List)
    }

    fn of_value(value: Value) -> Self {
        let mut values = value.into_list().into_iter();
        core::array::from_fn(|_| T::of_value(values.next().expect("a list of the allowed length")))
    }
}

/// Longest time that is shown as a default; longer times mean "never".
const LONGEST_SHOWN: Duration = Duration::from_secs(1_000_000_000);
