//! A stream of hints that are lost, doubled, late or out of order.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tenure::backend::{Hint, Hints};
use tenure::clock::Moment;
use tenure::model::MutexName;
use tokio::sync::mpsc;

use super::{Faults, HintFault};

type Alarm = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) struct FaultyHints {
    inner: Hints,
    has_ended: bool,
    injected: mpsc::UnboundedReceiver<Hint>,
    faults: Faults,
    /// Sorted by the moment; those of one moment in the order of arrival.
    due: Vec<(Moment, Hint)>,
    held_back: Option<Hint>,
    alarm: Option<(Moment, Alarm)>,
}

impl FaultyHints {
    pub(super) fn new(inner: Hints, faults: Faults, name: &MutexName) -> Self {
        Self {
            inner,
            has_ended: false,
            injected: faults.listen(name),
            faults,
            due: Vec::new(),
            held_back: None,
            alarm: None,
        }
    }

    fn deliver(&mut self, at: Moment, hint: Hint) {
        let place = self.due.partition_point(|(due, _)| *due <= at);
        self.due.insert(place, (at, hint));
    }

    fn befall(&mut self, hint: Hint) {
        let now = self.faults.clock().now();
        let fault = self.faults.hint();
        let held_back = self.held_back.take();
        match fault {
            HintFault::Lose => {}
            HintFault::Double => {
                self.deliver(now, hint);
                self.deliver(now, hint);
            }
            HintFault::Delay(length) => self.deliver(now + length, hint),
            HintFault::Reorder => self.held_back = Some(hint),
            HintFault::Resume => {
                self.deliver(now, Hint::Resumed);
                self.deliver(now, hint);
            }
            HintFault::None => self.deliver(now, hint),
        }
        if let Some(earlier) = held_back {
            self.deliver(now, earlier);
        }
    }
}

impl Stream for FaultyHints {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        let this = &mut *self;
        while let Poll::Ready(Some(hint)) = this.injected.poll_recv(cx) {
            let now = this.faults.clock().now();
            this.deliver(now, hint);
        }
        while !this.has_ended {
            match Pin::new(&mut this.inner).poll_next(cx) {
                Poll::Ready(Some(hint)) => this.befall(hint),
                Poll::Ready(None) => this.has_ended = true,
                Poll::Pending => break,
            }
        }
        // The end of a closed backend overtakes what was still on its way.
        if this.has_ended {
            return Poll::Ready(None);
        }
        let Some((at, hint)) = this.due.first().copied() else {
            this.alarm = None;
            return Poll::Pending;
        };
        if at <= this.faults.clock().now() {
            this.due.remove(0);
            return Poll::Ready(Some(hint));
        }
        if this.alarm.as_ref().is_none_or(|(set, _)| *set != at) {
            let clock = this.faults.clock().clone();
            this.alarm = Some((at, Box::pin(async move { clock.sleep_until(at).await })));
        }
        match this
            .alarm
            .as_mut()
            .map(|(_, alarm)| alarm.as_mut().poll(cx))
        {
            Some(Poll::Ready(())) => {
                this.alarm = None;
                this.due.remove(0);
                Poll::Ready(Some(hint))
            }
            _ => Poll::Pending,
        }
    }
}
