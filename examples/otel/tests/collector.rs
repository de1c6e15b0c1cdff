//! What arrives at a collector: OTLP over HTTP, received and decoded here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use otel::{Export, office, request};
use prost::Message;
use tenure::Coordinator;
use tenure::model::LeaseTerms;
use tenure::stores::memory::Memory;

/// A collector that keeps what it is sent.
#[derive(Clone, Debug, Default)]
struct Collector(Arc<Mutex<Vec<Span>>>);

impl Collector {
    /// Begins to listen; the endpoint for traces.
    async fn listen(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        let collector = self.clone();
        let take = move |headers: HeaderMap, body: Bytes| {
            collector.take(&headers, body);
            std::future::ready(())
        };
        let router = Router::new().route("/v1/traces", post(take));
        tokio::spawn(async { axum::serve(listener, router).await });
        endpoint
    }

    fn take(&self, headers: &HeaderMap, body: Bytes) {
        assert_eq!(headers["content-type"], "application/x-protobuf");
        let request = ExportTraceServiceRequest::decode(body).unwrap();
        let scopes = request
            .resource_spans
            .into_iter()
            .flat_map(|it| it.scope_spans);
        self.0
            .lock()
            .unwrap()
            .extend(scopes.flat_map(|it| it.spans));
    }

    /// The one span of this name of which `is_it`.
    fn span(&self, name: &str, is_it: impl Fn(&Span) -> bool) -> Span {
        let spans = self.0.lock().unwrap();
        let mut found = spans.iter().filter(|span| span.name == name && is_it(span));
        let span = found.next();
        let span = span
            .unwrap_or_else(|| panic!("no {name} among {spans:#?}"))
            .clone();
        assert!(found.next().is_none(), "two of {name} among {spans:#?}");
        span
    }
}

/// The fields of a span.
fn fields(span: &Span) -> BTreeMap<&str, &str> {
    let texts = span.attributes.iter().filter_map(|attribute| {
        match attribute.value.as_ref()?.value.as_ref()? {
            Value::StringValue(text) => Some((attribute.key.as_str(), text.as_str())),
            _ => None,
        }
    });
    texts.collect()
}

fn is_below(span: &Span, parent: &Span) -> bool {
    span.parent_span_id == parent.span_id && span.trace_id == parent.trace_id
}

fn is_linked(span: &Span, from: &Span) -> bool {
    let is_it = |link: &opentelemetry_proto::tonic::trace::v1::span::Link| {
        link.span_id == from.span_id && link.trace_id == from.trace_id
    };
    span.links.iter().any(is_it)
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_and_holding_arrive_with_their_fields_below_their_parents() {
    let collector = Collector::default();
    let export = Export::begin(&collector.listen().await).unwrap();
    let store = Memory::new();
    let coordinator = || Coordinator::with_backend(store.clone(), LeaseTerms::default()).unwrap();
    let (first, second) = (coordinator(), coordinator());
    request(&first, &second).await.unwrap();
    office(&first).await.unwrap();
    first.close().await.unwrap();
    second.close().await.unwrap();
    let ended = tokio::task::spawn_blocking(|| export.end()).await;
    ended.unwrap().unwrap();

    // The lock is a part of the request that needed it.
    let request = collector.span("request", |_| true);
    assert_eq!(fields(&request)["path"], "/report");
    let waiting = collector.span("waiting", |span| is_below(span, &request));
    let holding = collector.span("holding", |span| is_below(span, &request));
    for (span, outcome) in [(&waiting, "won"), (&holding, "confirmed")] {
        let fields = fields(span);
        assert_eq!(fields["purpose"], "lock");
        assert_eq!(fields["mutex"], "report");
        assert_eq!(fields["store"], "memory");
        assert_eq!(fields["outcome"], outcome);
        assert!(!fields["contender"].is_empty());
        assert!(span.end_time_unix_nano > span.start_time_unix_nano);
    }
    assert!(fields(&holding)["token"].parse::<u64>().is_ok());
    assert!(is_linked(&holding, &waiting));
    // It waited for as long as the other held it.
    let waited = waiting.end_time_unix_nano - waiting.start_time_unix_nano;
    assert!(waited >= 10_000_000, "{waited} ns");
    let calls = collector.0.lock().unwrap().clone();
    let calls = calls.iter().filter(|span| span.name == "acquire");
    assert!(calls.filter(|span| is_below(span, &waiting)).count() >= 1);
    collector.span("release", |span| is_below(span, &holding));

    // An office is a trace of its own, linked to where it began.
    let start = collector.span("start", |_| true);
    let waiting = collector.span("waiting", |span| is_linked(span, &start));
    let holding = collector.span("holding", |span| is_linked(span, &waiting));
    for span in [&waiting, &holding] {
        assert_eq!(fields(span)["purpose"], "leader");
        assert!(span.parent_span_id.is_empty(), "{span:#?}");
        assert_ne!(span.trace_id, start.trace_id);
        assert_eq!(fields(span)["mutex"], "billing");
    }
    assert!(start.end_time_unix_nano <= holding.end_time_unix_nano);
}
