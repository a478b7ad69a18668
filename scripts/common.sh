# Shared by the scripts in this folder; sourced, never run.
# shellcheck shell=bash

repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
target_folder="${CARGO_TARGET_DIR:-$repository/target}"
static_target=x86_64-unknown-linux-gnu
# The programs of build_static.
static_folder="$target_folder/$static_target/release-test"
# Exit code of a script that cannot run here and has printed the reason; other test harnesses use the same number.
skipped_exit_code=77

# as_root COMMAND…: runs it as root, if that needs no password.
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

# need_packages PACKAGE…: installs those that are missing; fails with the reason on stderr if it cannot.
need_packages() {
    if ! command -v apt-get >/dev/null; then
        echo "apt-get is missing; install these by hand: $*" >&2
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

# static_cargo SUBCOMMAND ARGUMENT…: cargo for a release build without shared libraries, so that it runs in a guest that
# has none.
static_cargo() {
    local subcommand="$1"
    shift
    RUSTFLAGS="-C target-feature=+crt-static" cargo "$subcommand" --profile release-test --target "$static_target" "$@"
}

# build_static: every program that is tested from outside, in one build: each alone would select other features of
# shared crates.
build_static() {
    static_cargo build --quiet --package hapticd --package haptic-testing --package haptic-emulator
}

# require_guest_tools WHAT: installs what a guest needs, or skips the test WHAT with the reason. Sets $kernel.
require_guest_tools() {
    [[ "$(uname -m)" == x86_64 ]] || skip "$1" "It needs an x86-64 host, this is $(uname -m)."
    need_packages qemu-system-x86 busybox-static cpio kmod xz-utils jq ||
        skip "$1" "QEMU and its tools are missing (see above)."
    kernel="$("$repository/scripts/kernel/fetch")" || skip "$1" "No real-time kernel is available (see above)."
}

# skip WHAT REASON: ends the script because this machine cannot run it.
skip() {
    printf '\n*** SKIPPED: %s did not run. %s\n\n' "$1" "$2" >&2
    exit "$skipped_exit_code"
}
