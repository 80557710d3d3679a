//! Embeds the files that the feature `api` needs in the program.

#[cfg(feature = "api")]
mod viewer;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build");
    #[cfg(feature = "api")]
    viewer::pack()?;
    Ok(())
}
