//! The scenes that can be switched to by name, and their pictures.

use crate::files::builtin::SCENES;
use crate::files::scene;
use crate::picture::view::SceneView;
use crate::snapshot::compose::{Content, compose};
use crate::snapshot::svg;
use haptic_view::message::scene::SceneEntry;

/// All of them; the title is the first line of what the file says about itself.
pub fn entries() -> Vec<SceneEntry> {
    SCENES.entries.iter().map(|(name, text)| entry(name, text)).collect()
}

/// The picture of one of them, as SVG.
pub fn picture(name: &str) -> Option<String> {
    let scene = scene::load(&SCENES.built_in(name)?).ok()?;
    let view = SceneView::of(&scene);
    let content = Content { placements: view.start().to_vec(), view, trail: None };
    String::from_utf8(svg::write(&compose(&content, false)).ok()?).ok()
}

fn entry(name: &str, text: &str) -> SceneEntry {
    let first_line = text.lines().next().and_then(|line| line.strip_prefix('#')).unwrap_or(name);
    let title = first_line.split_inclusive(['.', ';']).next().unwrap_or(name);
    SceneEntry {
        name: name.to_owned(),
        title: title.trim().trim_end_matches(['.', ';']).to_owned(),
        thumbnail: format!("/api/scenes/{name}.svg"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_scene_has_a_title_and_a_picture() {
        for SceneEntry { name, title, .. } in entries() {
            assert!(title.len() > name.len() && title.len() < 120, "{name}: {title}");
            assert!(picture(&name).is_some_and(|svg| svg.contains("<svg")), "{name}");
        }
        assert_eq!(picture("../table"), None);
    }
}
