//! The routes.
//!
//! | listener | route | answer |
//! | --- | --- | --- |
//! | public | any path, any method | 204 at once; the request is queued if there is room |
//! | admin | `/mismatches` | the last comparisons that did not match, as JSON |
//! | admin | `/livez`, `/readyz`, `/metrics` | see `service_kit::admin` |

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use crate::asked::Asked;
use crate::queue::Queue;
use crate::record::Kept;

pub(crate) fn router(queue: Queue) -> Router {
    Router::new().fallback(take).with_state(queue)
}

async fn take(State(queue): State<Queue>, request: Request) -> StatusCode {
    if let Some(asked) = Asked::of(&request) {
        queue.put(asked);
    }
    StatusCode::NO_CONTENT
}

/// The admin routes that only the shadow has.
pub(crate) fn admin_router(kept: Arc<Kept>) -> Router {
    Router::new().route("/mismatches", get(mismatches)).with_state(kept)
}

async fn mismatches(State(kept): State<Arc<Kept>>) -> Response {
    match kept.to_json() {
        Ok(json) => ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], json)
            .into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot write the mismatches as JSON");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
