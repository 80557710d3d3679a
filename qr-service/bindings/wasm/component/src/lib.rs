//! `qr-core` as a Wasm component. A host of the component model needs only `qr.wit`, its interface.

use qr_core::Raster;

#[allow(missing_docs, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ path: "qr.wit" });
    export!(Component with_types_in self);
    use super::Component;
}

struct Component;

impl bindings::Guest for Component {
    fn generate(text: String, look: Option<bindings::Look>) -> Result<Vec<u8>, String> {
        let (raster, level) = match look {
            None => (Raster::SERVICE, qr_core::Level::L),
            Some(look) => (
                Raster::new(look.size).margin_modules(look.margin),
                qr_core::Level::ALL[look.level as usize],
            ),
        };
        let mut png = Vec::new();
        qr_core::generate(&text, level, &raster, &mut png).map_err(|error| error.to_string())?;
        Ok(png)
    }
}
