//! The routes; each endpoint has its own file.

mod plain;
mod qrcode;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::routing::future::RouteFuture;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use service_kit::{Plain, Shortcut};
use tower::Service;

use crate::answer::AnswerBody;
use crate::app::App;
use crate::error::Error;
use crate::layers::{self, Observe};
use crate::metrics::Route;
pub(crate) use plain::Others;

/// The public routes inside their layers.
///
/// | route | answered by |
/// | --- | --- |
/// | `/qrcode` | [`qrcode::respond`] |
/// | below `/v1/`, and other services' paths, with the feature `api` | `qr_api` |
/// | any other | 404 |
#[cfg(not(feature = "api"))]
pub(crate) fn router(app: &'static App) -> Observe<Routes> {
    let others = Router::new().fallback(async || Error::NotFound);
    layers::around(app, Routes { app, others, has_host: false })
}

/// The public routes with the API's. If a host name has routes of its own, its `/qrcode` is one of them, so
/// the host is looked at first.
#[cfg(feature = "api")]
pub(crate) fn router_with(app: &'static App, api: qr_api::Routes) -> Observe<Routes> {
    let paths = api.paths.fallback(async || Error::NotFound);
    let has_host = api.host.is_some();
    let others = match api.host {
        Some(host) => {
            let qrcode = axum::routing::any(qrcode::get).with_state(app);
            host.before(Router::new().route(Route::Qrcode.as_str(), qrcode).fallback_service(paths))
        }
        None => paths,
    };
    layers::around(app, Routes { app, others, has_host })
}

/// The answers that need no router. Not for routes of which a host has its own.
pub(crate) fn shortcut(app: &'static App, others: Others) -> Shortcut {
    let answer = move |request: &Plain<'_>, began, answer: &mut Vec<u8>| {
        plain::answer(app, &others, (request, began), answer)
    };
    Shortcut(Box::leak(Box::new(answer)))
}

/// Answers `/qrcode` at once. axum, which boxes the future and the body of every answer, answers all else.
#[derive(Clone)]
pub(crate) struct Routes {
    app: &'static App,
    others: Router,
    /// `others` looks at the host, and has `/qrcode` too.
    has_host: bool,
}

impl<B> Service<Request<B>> for Routes
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Answered;

    /// It is always ready, as every axum `Router` is.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Answered {
        if !self.has_host && request.uri().path() == Route::Qrcode.as_str() {
            let response = qrcode::respond(self.app, &request);
            return Answered::Here { response: Some(response) };
        }
        Answered::There { future: self.others.call(request) }
    }
}

pin_project! {
    /// The answer of [`Routes`].
    #[project = AnsweredProjection]
    pub(crate) enum Answered {
        Here { response: Option<Response<AnswerBody>> },
        There { #[pin] future: RouteFuture<Infallible> },
    }
}

impl Future for Answered {
    type Output = Result<Response<AnswerBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            AnsweredProjection::Here { response } => {
                response.take().map_or(Poll::Pending, |response| Poll::Ready(Ok(response)))
            }
            AnsweredProjection::There { future } => {
                Poll::Ready(ready!(future.poll(context)).map(|it| it.map(AnswerBody::Boxed)))
            }
        }
    }
}
