//! [`Probes`]: what Prometheus, Kubernetes and neighbours ask over HTTP.

#[cfg(feature = "http")]
mod answers;
#[cfg(feature = "http")]
pub(crate) use answers::Probes;

/// Without the feature no client asks.
#[cfg(not(feature = "http"))]
#[derive(Clone, Debug, Default)]
pub(crate) struct Probes(());

#[cfg(not(feature = "http"))]
impl Probes {
    pub(crate) async fn serve(
        _: Option<&str>,
        _: &crate::output::Voice,
    ) -> Result<Self, crate::exit::Failure> {
        Ok(Self(()))
    }

    pub(crate) fn opened(&self, _: &tenure::Coordinator) {}
}
