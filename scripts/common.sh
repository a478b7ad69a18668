# Shared by the scripts in this folder; sourced, never run.
# shellcheck shell=bash

repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
target_folder="${CARGO_TARGET_DIR:-$repository/target}"
static_target=x86_64-unknown-linux-gnu

# as_root COMMAND…: runs it as root, if that can be had without asking anybody.
as_root() {
    if [[ "$(id -u)" == 0 ]]; then "$@"; elif sudo -n true 2>/dev/null; then sudo -n "$@"; else return 1; fi
}

missing_packages() {
    local package
    for package in "$@"; do
        [[ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null)" == ii* ]] || echo "$package"
    done
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >&2
}

# need_packages PACKAGE…: installs those that are missing, or says on stderr why it cannot and fails.
need_packages() {
    if ! command -v apt-get >/dev/null; then
        echo "there is no apt-get here; install these by hand: $*" >&2
        return 1
    fi
    local missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    echo "installing ${missing[*]}" >&2
    if ! as_root true; then
        echo "not root and no sudo without a password; install these by hand: ${missing[*]}" >&2
        return 1
    fi
    apt install -y --no-install-recommends "${missing[@]}" ||
        { apt update && apt install -y --no-install-recommends "${missing[@]}"; } ||
        { echo "apt-get could not install ${missing[*]}" >&2; return 1; }
}

# static_cargo SUBCOMMAND ARGUMENT…: cargo for the release build that needs no library of the system, so that it runs in a
# guest that has none. The test script's release tests use it as well: one build serves both. It is optimised like any
# release, but not across crates: that takes minutes, and a result never depends on it.
static_cargo() {
    local subcommand="$1"
    shift
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        RUSTFLAGS="-C target-feature=+crt-static" cargo "$subcommand" --release --target "$static_target" "$@"
}

# build_static: everything that is tested from outside, in one build. Each alone would want other features of what they share.
build_static() {
    static_cargo build --quiet --package hapticd --package haptic-testing --package haptic-emulator
}
