//! Built-in scenes for the viewer, with titles and pictures.

use haptic_config::builtin::SCENES;
use haptic_config::scene;
use haptic_draw::compose::{Annotations, Content, compose};
use haptic_draw::svg;
use haptic_view::message::scene::SceneEntry;

/// Returns all built-in scenes. The title of a scene comes from the comment in the first line of its file.
pub fn entries() -> Vec<SceneEntry> {
    SCENES.entries.iter().map(|(name, text)| entry(name, text)).collect()
}

/// Returns a picture of a built-in scene as SVG; `None` if there is no such scene.
pub fn picture(name: &str) -> Option<String> {
    let scene = scene::load(&SCENES.built_in(name)?).ok()?;
    Some(svg::write(&compose(&Content::at_start(&scene), Annotations::None)))
}

fn entry(name: &str, text: &str) -> SceneEntry {
    let thumbnail = format!("/api/scenes/{name}.svg");
    SceneEntry { name: name.to_owned(), title: title(text).unwrap_or(name).to_owned(), thumbnail }
}

/// Returns the comment in the first line of a file, up to the first colon, semicolon or full stop.
fn title(text: &str) -> Option<&str> {
    let first_line = text.lines().next()?.strip_prefix('#')?.trim();
    let stop = [": ", "; ", ". "].iter().filter_map(|stop| first_line.find(stop)).min();
    Some(first_line[..stop.unwrap_or(first_line.len())].trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_scene_has_a_title_and_a_picture() {
        for SceneEntry { name, title, .. } in entries() {
            assert!(title.len() > 8 && title.len() < 80 && !title.ends_with('.'), "{name}: {title}");
            let svg = picture(&name).unwrap();
            assert!(svg.contains("<svg") && !svg.contains("<text"), "{name}: {svg}");
        }
        assert_eq!(picture("../table"), None);
        assert_eq!(title("# A slope of 0.35 rad: of two boxes one holds"), Some("A slope of 0.35 rad"));
    }
}
