//! `/v1/batch`: takes many items and answers with a ZIP archive of their pictures.
//!
//! The archive has all pictures or is refused, and is made while the client reads it; see `many.rs`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use qr_options::OPTIONS;
use serde_json::{Map, Value, json};

use super::Shared;
use super::many::{
    EarlyEnd, ErrorAnswers, ItemsForm, ItemsRequest, Sending, check_all, make, place_for,
    read_request, stream,
};
use super::qr::{PictureFile, make_here};
use crate::v1::archive::Archive;
use crate::v1::fault::{Fault, Refusal};
use crate::v1::items::Names;
use crate::v1::options::{Format, Options};
use crate::v1::plan::{Content, Plan, plan_of};
use crate::v1::pool::Pool;

const MANIFEST: &str = "manifest.json";

/// A picture to make, and its file.
#[derive(Clone)]
struct Item {
    name: String,
    plan: Arc<Plan>,
}

/// Answers with an archive of the items' pictures and of `manifest.json`, which lists them. The query has options
/// for all items; an item's own options override them. `filename` is the name in the archive.
#[utoipa::path(
    post, path = "/v1/batch", operation_id = "batch", tag = "batch",
    request_body(content((Vec<Options> = "application/json"), (String = "application/x-ndjson"), (String = "text/csv"), (ItemsForm = "multipart/form-data"))),
    responses(
        (status = 200, description = "The archive", content((Vec<u8> = "application/zip"))),
        ErrorAnswers,
    ),
)]
pub(super) async fn post(State(api): Shared, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let place = place_for(&api).await?;
    let items = read_request(&api.pool, &parts, body, false, read_plans).await?;
    let check = |item: &Item| make_here(&item.plan, true).map(drop);
    check_all(&api.pool, &items, check).await?;
    let pool = api.pool.clone();
    let disposition = "attachment; filename=\"qr.zip\"";
    Ok(stream(place, "application/zip", disposition, |sending| async move {
        send_archive(&pool, items, &sending).await
    }))
}

/// Makes the items' plans. Fails with all faults of the query and of the items.
fn read_plans(request: ItemsRequest) -> Result<Vec<Item>, Refusal> {
    let (common, mut in_common, mut faults) = (request.common, request.faults, request.of_items);
    let mut names = Names::new(MANIFEST);
    let mut items = Vec::with_capacity(request.items.len());
    for (index, own) in request.items.into_iter().enumerate() {
        let mut of_item = Vec::new();
        match read_item(&common, own, index, &mut names, &mut of_item) {
            Some(item) => items.push(share_logo(item, items.last())),
            None => faults.add(index, of_item),
        }
    }
    in_common.append(&mut faults.finish());
    if in_common.is_empty() { Ok(items) } else { Err(Refusal::Parameters(in_common)) }
}

fn read_item(
    common: &Map<String, Value>,
    own: Map<String, Value>,
    index: usize,
    names: &mut Names,
    faults: &mut Vec<Fault>,
) -> Option<Item> {
    let mut values = common.clone();
    values.extend(own);
    let mut options: Options = OPTIONS.read(&values, faults).unwrap_or_default();
    let format = options.format.unwrap_or(Format::Png);
    let filename = options.filename.take();
    let name = names.choose(index, filename, format);
    match (plan_of(options, format, std::mem::take(faults)), name) {
        (Ok(plan), Ok(name)) => Some(Item { name, plan: Arc::new(plan) }),
        (plan, name) => {
            faults.extend(plan.err().into_iter().flatten());
            faults.extend(name.err());
            None
        }
    }
}

/// Lets an item share its logo with the item before if both are the same, because a thousand copies would take
/// 256 MB.
fn share_logo(mut item: Item, before: Option<&Item>) -> Item {
    let logo_before = before.and_then(|item| item.plan.look.logo.as_ref());
    if let (Some(before), Some(plan)) = (logo_before, Arc::get_mut(&mut item.plan))
        && let Some(logo) = &mut plan.look.logo
        && logo.file == before.file
    {
        logo.file = before.file.clone();
    }
    item
}

/// Makes the items one by one and sends them.
async fn send_archive(pool: &Pool, items: Vec<Item>, sending: &Sending) -> Result<(), EarlyEnd> {
    let mut archive = Archive::default();
    let mut listed = Vec::with_capacity(items.len());
    for item in items {
        let plan = Arc::clone(&item.plan);
        let made = make(pool, move || make_here(&plan, false)).await?;
        listed.push(describe(&item, &made));
        sending.send(archive.add(&item.name, &made.bytes)).await?;
    }
    let manifest = json!({ "items": listed }).to_string();
    sending.send(archive.add(MANIFEST, manifest.as_bytes())).await?;
    sending.send(archive.finish()).await
}

/// The manifest's entry for a file. It includes the content, so that files can be told apart.
fn describe(item: &Item, made: &PictureFile) -> Value {
    let header = |name: &str| made.described.get(name).and_then(|value| value.to_str().ok());
    let mut described = json!({"file": item.name, "bytes": made.bytes.len(), "kind": header("x-qr-kind"),
        "version": header("x-qr-version"), "level": header("x-qr-level"), "mask": header("x-qr-mask"),
        "modules": header("x-qr-modules")});
    let content = &item.plan.content;
    described[content.parameter()] = match content {
        Content::Text(text) => text.as_str().into(),
        Content::Bytes(bytes) => STANDARD.encode(bytes).into(),
    };
    described
}
