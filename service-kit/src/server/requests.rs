//! The requests of a connection, between hyper and the routes.

use std::cell::RefCell;
use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::{Request, Response};
use pin_project_lite::pin_project;
use tower::Service;

use super::places::Slot;

/// Answers the requests of a listener: an axum `Router`, or a tower service around one that is always ready.
pub trait Routes:
    Service<
        Request<RequestBody>,
        Response = Response<<Self as Routes>::AnswerBody>,
        Error = Infallible,
        Future: Send + 'static,
    > + Clone
    + Send
    + 'static
{
    /// The body of its answers.
    type AnswerBody: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static;
}

impl<S, B> Routes for S
where
    S: Service<
            Request<RequestBody>,
            Response = Response<B>,
            Error = Infallible,
            Future: Send + 'static,
        > + Clone
        + Send
        + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    type AnswerBody = B;
}

/// The body of a client's request.
pub type RequestBody = InUse<Incoming>;

/// The body of a request or of its answer. hyper stays until both are gone: however long one pauses, it is
/// not the wait for a next head.
pub struct InUse<B> {
    body: B,
    slot: Arc<Slot>,
}

impl<B> Drop for InUse<B> {
    fn drop(&mut self) {
        self.slot.end_body();
    }
}

impl<B: Body + Unpin> Body for InUse<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The routes of one connection, which notes when a request begins and when its bodies are over.
pub(super) struct Requests<R> {
    /// Not cloned for each request: that would count references up and down.
    routes: RefCell<R>,
    slot: Arc<Slot>,
}

impl<R> Requests<R> {
    pub(super) fn new(routes: R, slot: Arc<Slot>) -> Self {
        Requests { routes: RefCell::new(routes), slot }
    }

    pub(super) fn into_routes(self) -> R {
        self.routes.into_inner()
    }
}

impl<R: Routes> hyper::service::Service<Request<Incoming>> for Requests<R> {
    type Response = Response<InUse<R::AnswerBody>>;
    type Error = Infallible;
    type Future = Answering<R::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.slot.handle();
        let request = request.map(|body| InUse { body, slot: Arc::clone(&self.slot) });
        let future = self.routes.borrow_mut().call(request);
        Answering { future, slot: Some(Arc::clone(&self.slot)) }
    }
}

pin_project! {
    /// The answer of [`Requests`].
    pub(super) struct Answering<F> {
        #[pin]
        future: F,
        slot: Option<Arc<Slot>>,
    }
}

impl<F, B> Future for Answering<F>
where
    F: Future<Output = Result<Response<B>, Infallible>>,
{
    type Output = Result<Response<InUse<B>>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Ok(response) = ready!(this.future.poll(context));
        // Polled again after its end, which a future may answer as it likes.
        let Some(slot) = this.slot.take() else { return Poll::Pending };
        Poll::Ready(Ok(response.map(|body| InUse { body, slot })))
    }
}
