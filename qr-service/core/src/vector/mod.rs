//! Vector formats: one outline around all dark modules, filled once, so no renderer leaves seams
//! between modules.

#[cfg(feature = "eps")]
mod eps;
mod line;
mod outline;
#[cfg(feature = "pdf")]
mod pdf;
#[cfg(any(feature = "eps", feature = "pdf"))]
mod print;
#[cfg(feature = "svg")]
mod svg;

#[cfg(feature = "eps")]
pub use eps::write_eps;
#[cfg(feature = "pdf")]
pub use pdf::{write_pdf, write_pdf_path};
#[cfg(any(feature = "eps", feature = "pdf"))]
pub use print::{Overlay, Print, PrintColor, Step};
#[cfg(feature = "svg")]
pub use svg::{Svg, write_svg};
