//! Bytes as values.

/// What is left of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    /// The next number; zero when there is none. Small ones and the largest are as short to
    /// write as others.
    pub(crate) fn number(&mut self) -> u64 {
        let (bytes, rest) = self.0.split_at(self.0.len().min(8));
        self.0 = rest;
        let mut number = [0; 8];
        number[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(number)
    }

    /// The next `N` numbers.
    pub(crate) fn numbers<const N: usize>(&mut self) -> [u64; N] {
        std::array::from_fn(|_| self.number())
    }

    /// All that is left, as `N` texts with a zero between them.
    pub(crate) fn texts<const N: usize>(self) -> [&'a [u8]; N] {
        let mut parts = self.0.splitn(N, |byte| *byte == 0);
        std::array::from_fn(|_| parts.next().unwrap_or_default())
    }
}
