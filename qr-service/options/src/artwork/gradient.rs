//! Gradients of the dark modules. Lengths are in modules.

use qr_core::Color;

use crate::options::Gradient as Kind;
use crate::plan::GradientPlan;

/// A gradient over a symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gradient {
    pub(super) kind: Kind,
    pub(super) from: Color,
    pub(super) to: Color,
    /// The ends of a linear gradient; the middle of a radial one and a corner.
    pub(super) ends: [(f64, f64); 2],
}

impl Gradient {
    /// Places a gradient so that both colours are at the symbol's edge, or in its middle and its corners.
    pub(super) fn new(plan: GradientPlan, from: Color, side: usize) -> Self {
        let middle = side as f64 / 2.0;
        let (down, right) = f64::from(plan.angle).to_radians().sin_cos();
        let half = middle * (down.abs() + right.abs());
        let at = |far: f64| (middle + right * far, middle + down * far);
        let ends = match plan.kind {
            Kind::Linear => [at(-half), at(half)],
            Kind::Radial => [(middle, middle), (0.0, 0.0)],
        };
        Gradient { kind: plan.kind, from, to: plan.to, ends }
    }

    /// As a shading of PDF: along the ends, or between two circles.
    pub(super) fn shading(&self) -> String {
        let [(x, y), (right, down)] = self.ends;
        let (kind, place) = match self.kind {
            Kind::Linear => (2, format!("{x:.4} {y:.4} {right:.4} {down:.4}")),
            Kind::Radial => (3, format!("{x} {y} 0 {x} {y} {:.4}", self.length())),
        };
        let [from, to] = [self.from, self.to].map(|it| {
            let [red, green, blue] = [it.red, it.green, it.blue].map(|it| f64::from(it) / 255.0);
            format!("{red:.4} {green:.4} {blue:.4}")
        });
        format!(
            "<</ShadingType {kind}/ColorSpace/DeviceRGB/Coords[{place}]/Extend[true true]\
             /Function<</FunctionType 2/Domain[0 1]/C0[{from}]/C1[{to}]/N 1>>>>"
        )
    }

    /// Distance of the ends.
    pub(super) fn length(&self) -> f64 {
        let [from, to] = self.ends;
        (to.0 - from.0).hypot(to.1 - from.1)
    }

    /// The colour at a point.
    pub(super) fn color_at(&self, x: f64, y: f64) -> Color {
        let [from, to] = self.ends;
        let (x, y) = (x - from.0, y - from.1);
        let share = match self.kind {
            Kind::Linear => (x * (to.0 - from.0) + y * (to.1 - from.1)) / self.length().powi(2),
            Kind::Radial => x.hypot(y) / self.length(),
        };
        let share = share.clamp(0.0, 1.0);
        let mix = |from: u8, to: u8| {
            (f64::from(from) + share * (f64::from(to) - f64::from(from))).round() as u8
        };
        let Gradient { from, to, .. } = self;
        Color::rgb(mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue))
    }
}
