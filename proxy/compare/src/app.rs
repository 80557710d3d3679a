//! The routes.
//!
//! | listener | route | answer |
//! | --- | --- | --- |
//! | public | any path, any method | 204 at once; the request is queued if there is room |
//! | admin | `/mismatches` | the last comparisons that did not match, as JSON |
//! | admin | `/fields` | how often each field differs between the sides, and between answers of the old side, as JSON |
//! | admin | `/livez`, `/readyz`, `/metrics` | see `service_kit::admin` |

use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http_body::Body as _;

use route::Body;
use service_kit::metrics::shape;

use crate::fields::AllFields;
use crate::mirrored::{MirroredRequest, names};
use crate::queue::{Queue, QueuedRequest};
use crate::record::RecentRecords;
use crate::routes::{self, ComparedRoute};

pub(crate) fn router(queue: Queue, routes: Arc<[Arc<ComparedRoute>]>) -> Router {
    Router::new().fallback(take).with_state((queue, routes))
}

type Routes = Arc<[Arc<ComparedRoute>]>;

async fn take(State((queue, routes)): State<(Queue, Routes)>, request: Request) -> StatusCode {
    let Some(watched) = routes::find(&routes, &request) else {
        queue.metrics.unknown.inc();
        return StatusCode::NO_CONTENT;
    };
    let Some(mut asked) = MirroredRequest::of(&request, &watched.sent_headers) else {
        return StatusCode::NO_CONTENT;
    };
    let path = watched.route.file.path.template(request.uri().path());
    let shape = shape(asked.method.as_str(), &path, &names(&request));
    let longest = match watched.route.body() {
        Body::None => 0,
        Body::Buffered => usize::try_from(watched.route.max_body().0).unwrap_or(usize::MAX),
    };
    // nginx announces the length even of a body that the client sent in chunks.
    let announced =
        request.body().size_hint().upper().and_then(|bytes| usize::try_from(bytes).ok());
    let Some(room) = queue.room_for(announced.unwrap_or(longest).min(longest), watched) else {
        return StatusCode::NO_CONTENT;
    };
    if longest > 0 {
        match to_bytes(request.into_body(), longest).await {
            Ok(body) => asked.body = body,
            Err(_) => return StatusCode::NO_CONTENT, // nginx closed the connection within the body
        }
    }
    queue.put(QueuedRequest { asked, shape, watched: Arc::clone(watched), room });
    StatusCode::NO_CONTENT
}

/// The admin routes that only the shadow has.
pub(crate) fn admin_router(kept: Arc<RecentRecords>, fields: Arc<AllFields>) -> Router {
    let mismatches = async move || shown(kept.to_json());
    let fields = async move || shown(fields.to_json());
    Router::new().route("/mismatches", get(mismatches)).route("/fields", get(fields))
}

fn shown(json: serde_json::Result<Vec<u8>>) -> Response {
    match json {
        Ok(json) => ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], json)
            .into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot write JSON");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
