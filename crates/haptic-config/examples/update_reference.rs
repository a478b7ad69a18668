//! Writes the files that are derived from the definitions of the keys: the reference in `docs` and the schemas in
//! `config/schemas`. Run by `scripts/update-reference`.

use haptic_backends::KINDS;
use haptic_config::{keys, reference, schema};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (name, text) in reference::pages(KINDS) {
        std::fs::write(repository.join("docs").join(name), text)?;
    }
    let schemas = repository.join("config/schemas");
    std::fs::create_dir_all(&schemas)?;
    for (file, root) in keys::FILES {
        let text = format!("{:#}\n", schema::schema(file, root, KINDS));
        std::fs::write(schemas.join(format!("{file}.schema.json")), text)?;
    }
    Ok(())
}
