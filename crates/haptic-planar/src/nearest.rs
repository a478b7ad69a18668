//! The name somebody probably meant.

/// The candidate nearest to a misspelt word by edit distance (insert, delete, replace, swap neighbours), if one is near
/// enough to be meant: at most a third of the word wrong, or two letters. The earliest wins a draw.
pub fn nearest_name<'a>(wrong: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let most = (wrong.chars().count() / 3).max(2);
    let scored = candidates.map(|candidate| (edit_distance(wrong, candidate), candidate));
    let near = scored.filter(|&(distance, candidate)| distance <= most && distance < candidate.chars().count());
    near.min_by_key(|&(distance, _)| distance).map(|(_, candidate)| candidate)
}

fn edit_distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) =
        (from.to_lowercase().chars().collect(), to.to_lowercase().chars().collect());
    let mut rows = vec![vec![0; to.len() + 1]; from.len() + 1];
    for i in 0..=from.len() {
        for j in 0..=to.len() {
            rows[i][j] = cheapest(&from, &to, &rows, i, j);
        }
    }
    rows[from.len()][to.len()]
}

/// Least number of edits that turn the first `i` letters of one word into the first `j` of the other.
fn cheapest(from: &[char], to: &[char], rows: &[Vec<usize>], i: usize, j: usize) -> usize {
    if i == 0 || j == 0 {
        return i + j;
    }
    let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
    let best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
    let swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
    if swapped { best.min(rows[i - 2][j - 2] + 1) } else { best }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(wrong: &str) -> Option<&'static str> {
        nearest_name(wrong, ["friction", "restitution", "mass_kg", "colour", "name"].into_iter())
    }

    #[test]
    fn slips_of_the_finger_find_the_word() {
        assert_eq!(nearest("fricton"), Some("friction"));
        assert_eq!(nearest("frcition"), Some("friction"));
        assert_eq!(nearest("Mass_kg"), Some("mass_kg"));
        assert_eq!(nearest("color"), Some("colour"));
    }

    #[test]
    fn a_word_unlike_all_others_finds_none() {
        assert_eq!(nearest("viscosity"), None);
        assert_eq!(nearest(""), None);
    }

    #[test]
    fn a_swap_of_neighbours_is_one_edit() {
        assert_eq!(edit_distance("probe", "porbe"), 1);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }

    #[test]
    fn the_earliest_wins_a_draw() {
        assert_eq!(nearest_name("tile3", ["tile1", "tile2"].into_iter()), Some("tile1"));
    }
}
