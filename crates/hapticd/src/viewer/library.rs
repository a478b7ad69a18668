//! Built-in scenes for the viewer, with titles and pictures.

use haptic_config::builtin::SCENES;
use haptic_config::scene;
use haptic_draw::compose::{Annotations, Content, compose};
use haptic_draw::svg;
use haptic_view::message::scene::SceneEntry;

/// Returns all built-in scenes.
pub fn entries() -> Vec<SceneEntry> {
    SCENES.entries.iter().map(|(name, _)| entry(name)).collect()
}

/// Returns a picture of a built-in scene as SVG; `None` if there is no such scene.
pub fn picture(name: &str) -> Option<String> {
    let scene = scene::load(&SCENES.built_in(name)?).ok()?;
    Some(svg::write(&compose(&Content::at_start(&scene), Annotations::None)))
}

fn entry(name: &str) -> SceneEntry {
    let about = SCENES.built_in(name).map(|source| scene::about(&source)).unwrap_or_default();
    let title = if about.title.is_empty() { name.to_owned() } else { about.title };
    SceneEntry {
        name: name.to_owned(),
        title,
        description: about.description,
        thumbnail: format!("/api/scenes/{name}.svg"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_scene_has_a_title_a_description_and_a_picture() {
        for SceneEntry { name, title, description, .. } in entries() {
            assert!(title.len() > 4 && title.len() < 60 && !title.ends_with('.'), "{name}: {title}");
            assert!(description.len() > 20 && description.ends_with('.'), "{name}: {description}");
            let svg = picture(&name).unwrap();
            assert!(svg.contains("<svg") && !svg.contains("<text"), "{name}: {svg}");
        }
        assert_eq!(picture("../table"), None);
    }
}
