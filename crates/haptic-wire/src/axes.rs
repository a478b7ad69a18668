//! One value per axis of a device with one or two axes.

use core::ops::Deref;

/// Maximum number of axes in this version of the protocol.
pub const MAX_AXES: usize = 2;

/// One value per axis. Only one or two axes can be represented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerAxis<T> {
    values: [T; MAX_AXES],
    count: usize,
}

impl<T: Copy + Default> PerAxis<T> {
    /// Creates a `PerAxis` with one axis.
    pub fn one(value: T) -> Self {
        Self { values: [value, T::default()], count: 1 }
    }

    /// Creates a `PerAxis` with two axes.
    pub fn two(first: T, second: T) -> Self {
        Self { values: [first, second], count: 2 }
    }

    /// Creates a `PerAxis` with one axis per value of the slice. Returns `None` unless there are one or two values.
    pub fn from_slice(values: &[T]) -> Option<Self> {
        match *values {
            [value] => Some(Self::one(value)),
            [first, second] => Some(Self::two(first, second)),
            _ => None,
        }
    }

    /// Applies `change` to the value of each axis and returns the results.
    pub fn map<U: Copy + Default>(&self, change: impl Fn(T) -> U) -> PerAxis<U> {
        let mut values = [U::default(); MAX_AXES];
        for (changed, value) in values.iter_mut().zip(self.iter()) {
            *changed = change(*value);
        }
        PerAxis { values, count: self.count }
    }

    /// Creates a `PerAxis` by calling `value_at` with the index of each axis, counted from zero. Returns `None` unless
    /// `count` is 1 or 2.
    pub(crate) fn from_fn(count: usize, value_at: impl Fn(usize) -> T) -> Option<Self> {
        match count {
            1 => Some(Self::one(value_at(0))),
            2 => Some(Self::two(value_at(0), value_at(1))),
            _ => None,
        }
    }
}

impl<T> Deref for PerAxis<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_or_two_axes_exist() {
        assert!(PerAxis::<i16>::from_slice(&[]).is_none());
        assert_eq!(&*PerAxis::from_slice(&[5]).unwrap(), [5]);
        assert_eq!(&*PerAxis::from_slice(&[5, 6]).unwrap(), [5, 6]);
        assert!(PerAxis::from_slice(&[5, 6, 7]).is_none());
    }
}
