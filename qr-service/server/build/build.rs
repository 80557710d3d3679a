//! What the feature `api` puts into the program.

#[cfg(feature = "api")]
mod viewer;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build");
    #[cfg(feature = "api")]
    viewer::pack()?;
    Ok(())
}
