//! `/v1/labels`: takes many items and answers with a PDF of label sheets.
//!
//! The PDF has all labels or is refused, and is made while the client reads it; see `many.rs`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use qr_options::{OPTIONS, Parameters};
use serde_json::{Map, Value};

use super::Shared;
use super::many::{
    EarlyEnd, ErrorAnswers, ItemsForm, ItemsRequest, Sending, TURN, check_all, make, place_for,
    read_request, stream,
};
use super::qr::{NO_STORE, unprocessable};
use crate::v1::caption::LabelCaption;
use crate::v1::document::Document;
use crate::v1::fault::{Code, Fault, Refusal};
use crate::v1::items::COLUMNS;
use crate::v1::options::{Format, Options};
use crate::v1::parameters::read_query;
use crate::v1::plan::{Inks, Length, PicturePlan, Plan, plan_of};
use crate::v1::pool::Pool;
use crate::v1::sheet::{Layout, SHEET, Sheet};
use crate::v1::symbol::encode;
use crate::v1::verify;

/// Compression level of the pages. Higher levels take several times as long and save only a few bytes.
const COMPRESSION: u8 = 6;

/// A label to draw.
#[derive(Clone)]
struct Label {
    plan: Arc<Plan>,
    caption: Arc<[LabelCaption]>,
}

/// Answers with sheets of labels as a PDF, filled page by page and row by row. The query describes the sheet and has
/// options for all labels; an item's own options override them. An item may have a `caption`.
#[utoipa::path(
    post, path = "/v1/labels", operation_id = "labels", tag = "batch",
    request_body(content((Vec<Options> = "application/json"), (String = "application/x-ndjson"), (String = "text/csv"), (ItemsForm = "multipart/form-data"))),
    responses(
        (status = 200, description = "The sheet", content((Vec<u8> = "application/pdf"))),
        ErrorAnswers,
    ),
)]
pub(super) async fn post(State(api): Shared, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    if let Some(layout) = test_sheet(parts.uri.query().unwrap_or_default())? {
        let (mut document, mut pdf) = Document::begin();
        let (number, content) = document.content(&compressed(&layout.test_page()));
        pdf.extend([content, document.page(&[number], layout.page), document.finish()].concat());
        let media = [(CONTENT_TYPE, "application/pdf")];
        return Ok((media, [(CACHE_CONTROL, NO_STORE)], pdf).into_response());
    }
    let place = place_for(&api).await?;
    let (layout, labels) = read_request(&api.pool, &parts, body, true, read_labels).await?;
    check_all(&api.pool, &labels, move |label: &Label| check(label, &layout)).await?;
    let pool = api.pool.clone();
    let disposition = "attachment; filename=\"labels.pdf\"";
    Ok(stream(place, "application/pdf", disposition, |sending| async move {
        send_sheet(&pool, &layout, &labels, &sending).await
    }))
}

/// The layout of a test sheet, if the query asks for one. Fails with all faults of such a query.
fn test_sheet(query: &str) -> Result<Option<Layout>, Refusal> {
    let mut faults = Vec::new();
    let common = read_query(query, &[&OPTIONS, &COLUMNS, &SHEET], &mut faults);
    let sheet: Sheet = SHEET.read(&common, &mut faults).unwrap_or_default();
    if sheet.calibrate != Some(true) {
        return Ok(None);
    }
    // The sheet has no symbols, but a wrong option is a mistake all the same.
    let _: Option<Options> = OPTIONS.read(&common, &mut faults);
    let layout = Layout::new(&sheet, false, &mut faults);
    if faults.is_empty() { Ok(layout) } else { Err(Refusal::Parameters(faults)) }
}

/// Reads the sheet, and makes the labels' plans. Fails with all faults of the query and of the items.
fn read_labels(request: ItemsRequest) -> Result<(Layout, Vec<Label>), Refusal> {
    let ItemsRequest { common, items, mut faults, mut of_items } = request;
    let sheet: Sheet = SHEET.read(&common, &mut faults).unwrap_or_default();
    let has_captions = [&common].into_iter().chain(&items).any(|it| it.contains_key("caption"));
    let layout = Layout::new(&sheet, has_captions, &mut faults);
    let mut labels = Vec::with_capacity(items.len());
    for (index, own) in items.into_iter().enumerate() {
        let mut values = common.clone();
        values.extend(own);
        match read_label(&values, layout.as_ref()) {
            Ok(label) => labels.push(label),
            Err(of_item) => of_items.add(index, of_item),
        }
    }
    faults.append(&mut of_items.finish());
    match layout {
        Some(layout) if faults.is_empty() => Ok((layout, labels)),
        _ => Err(Refusal::Parameters(faults)),
    }
}

fn read_label(values: &Map<String, Value>, layout: Option<&Layout>) -> Result<Label, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut options: Options = OPTIONS.read(values, &mut faults).unwrap_or_default();
    for option in options.given() {
        let detail = match option.name {
            "format" if options.format == Some(Format::Pdf) => continue,
            "width_mm" | "filename" | "format" => "the sheet sets it for all labels",
            "caption" | "margin" => continue,
            _ if ["svg", "pdf"].iter().all(|it| option.formats.contains(it)) => {
                "labels are printed in black, with square modules and without logos"
            }
            _ => continue,
        };
        faults.push(Fault::new(option.name, Code::Contradictory, detail));
    }
    // Other labels are next to it, so the page does not serve as the quiet zone.
    let least = options.kind.unwrap_or_default().quiet_zone();
    if options.margin.is_some_and(|margin| margin < least) {
        let detail = "a label needs the quiet zone of the standard";
        faults.push(Fault::new("margin", Code::OutOfRange, detail).at_least(least));
    }
    // The sheet draws the caption, not the picture.
    let caption = options.caption.take().zip(layout).map(|(text, layout)| layout.caption(&text));
    let caption = caption.transpose().unwrap_or_else(|fault| {
        faults.push(fault);
        None
    });
    let plan = plan_of(options, Format::Pdf, faults)?;
    Ok(Label { plan: Arc::new(plan), caption: caption.unwrap_or_default().into() })
}

/// Checks that a label can be read as it will be printed.
fn check(label: &Label, layout: &Layout) -> Result<(), Refusal> {
    let encoded = encode(&label.plan).map_err(unprocessable)?;
    let mut plan = Plan::clone(&label.plan);
    let width = layout.width_mm(encoded.symbol.modules(), plan.margin);
    let inks = Inks::default();
    plan.picture = PicturePlan::Pdf { width: Length(width), inks };
    verify::check(&plan, &encoded, None).map_err(|fault| {
        let fault = Fault::new(plan.content.parameter(), Code::Unreadable, fault.detail);
        unprocessable(fault.suggest("use fewer rows and columns, a lower level, or less text"))
    })
}

/// Makes the pages and sends them, a few labels at a time.
async fn send_sheet(
    pool: &Pool,
    layout: &Layout,
    labels: &[Label],
    sending: &Sending,
) -> Result<(), EarlyEnd> {
    let (mut document, first) = Document::begin();
    sending.send(first).await?;
    let (mut rest, mut skipped) = (labels, layout.skipped);
    while !rest.is_empty() {
        let (page, after) = rest.split_at(rest.len().min(layout.per_page() - skipped));
        let mut contents = Vec::new();
        for (turn, some) in page.chunks(TURN).enumerate() {
            let (layout, some, first) = (*layout, some.to_vec(), skipped + turn * TURN);
            let drawn = make(pool, move || draw(&layout, first, &some)).await?;
            let (number, content) = document.content(&drawn);
            contents.push(number);
            sending.send(content).await?;
        }
        sending.send(document.page(&contents, layout.page)).await?;
        (rest, skipped) = (after, 0);
    }
    sending.send(document.finish()).await
}

/// Draws checked labels, of which the first is at index `first` of its page. Returns compressed content.
fn draw(layout: &Layout, first: usize, labels: &[Label]) -> Result<Vec<u8>, Refusal> {
    let mut content = Vec::new();
    layout.adjust(&mut content);
    for (index, label) in labels.iter().enumerate() {
        let encoded = encode(&label.plan).map_err(unprocessable)?;
        let modules = encoded.symbol.modules();
        layout.draw(first + index, modules, label.plan.margin, &label.caption, &mut content);
    }
    content.extend_from_slice(b"Q\n");
    Ok(compressed(&content))
}

fn compressed(content: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(content, COMPRESSION)
}
