//! Every call to an erased store leaves a trace: a span of level DEBUG, target
//! `tenure::store`, with its failure logged inside. No secret can appear: only
//! names, ids and tokens are recorded.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tracing::{Instrument, Span, debug};

use crate::error::Result;

/// A future that a trait object can answer with: the one box of a call.
pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// None where no subscriber listens at DEBUG: a span that is disabled still asks the `log`
/// crate at each step whether it listens, if another crate has turned that on.
macro_rules! span {
    ($call:literal $(, $field:ident = $value:expr)*) => {
        match tracing::Level::DEBUG <= tracing::level_filters::LevelFilter::current() {
            true => tracing::debug_span!(target: "tenure::store", $call $(, $field = %$value)*),
            false => tracing::Span::none(),
        }
    };
}
pub(super) use span;

/// `call` in its box, inside `span`.
pub(super) fn boxed<'a, T: Said>(
    span: Span,
    call: impl Future<Output = T> + Send + 'a,
) -> Boxed<'a, T> {
    Box::pin(Told { call }.instrument(span))
}

pin_project_lite::pin_project! {
    /// A call whose failure is told. An `async` block would have room for the call
    /// twice, and the call would be moved from one to the other.
    struct Told<F> {
        #[pin]
        call: F,
    }
}

impl<F: Future<Output: Said>> Future for Told<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let said = ready!(self.project().call.poll(cx));
        said.log_failures();
        Poll::Ready(said)
    }
}

/// What a call of a store answers.
pub(super) trait Said {
    fn log_failures(&self);
}

impl<T> Said for Result<T> {
    fn log_failures(&self) {
        if let Err(error) = self {
            let source = std::error::Error::source(error).map(tracing::field::display);
            debug!(target: "tenure::store", kind = ?error.kind(), outcome = ?error.outcome(), source, "{error}");
        }
    }
}

/// Each element of a batch stands alone.
impl<T> Said for Vec<Result<T>> {
    fn log_failures(&self) {
        self.iter().for_each(Said::log_failures);
    }
}

/// Findings are for the caller.
impl Said for Vec<super::Finding> {
    fn log_failures(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_room_for_its_call_once() {
        let call = async {
            let much = [0_u8; 4_000];
            tokio::task::yield_now().await;
            std::hint::black_box(&much);
            Result::Ok(())
        };
        let size = size_of_val(&call);
        let call = boxed(Span::none(), call);
        assert!(size >= 4_000, "{size} bytes of the call");
        let boxed = size_of_val(&*call);
        assert!(boxed < size + 200, "{boxed} bytes in the box of {size}");
    }
}
