#!/bin/bash
# Installs what is missing on a Debian 12 machine, and nothing else. Never asks; fast when there is nothing to do.
# Usage: tools/setup.sh [group ...]       without a group: native test web browser lint
#   native   compiler, LLVM and libraries of the native engine and tool
#   test     native + GoogleTest, benchmarks, peer libraries, sound files, npm packages
#   web      Emscripten and Node.js: the JavaScript package
#   browser  Chromium and fonts
#   lint     clang-format and clang-tidy
#   demo     native + one package of recordings + the Silero weights; no Emscripten, no Chromium
#   weights  the Silero weights alone
#   npm      all npm packages of package-lock.json
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A debian=(
  [native]="clang-22 llvm-22-dev libclang-22-dev g++-12 libstdc++-12-dev cmake ninja-build ccache libsndfile1-dev
    libsoxr-dev libpthreadpool-dev nlohmann-json3-dev libfmt-dev libcli11-dev libprotozero-dev libexpected-dev libz3-dev"
  [test]="libgtest-dev libgmock-dev libbenchmark-dev libopenblas-dev libdnnl-dev libclang-rt-22-dev python3 sox
    pocketsphinx-testdata asterisk-core-sounds-en-wav asterisk-moh-opsound-wav alsa-utils codec2-examples"
  [web]="emscripten node-acorn cmake ninja-build ccache nlohmann-json3-dev libprotozero-dev libexpected-dev"
  [browser]="chromium fonts-dejavu-core"
  [lint]="clang-format-22 clang-tidy-22"
  [demo]="pocketsphinx-testdata"
  [weights]="" [npm]=""
)
# Which other groups a group stands on.
declare -A needs=([test]="native npm" [demo]="native weights" [browser]="npm")

groups=()
add_group() {
  [ -n "${debian[$1]+known}" ] || { echo "setup.sh: no group \"$1\"; the groups are: ${!debian[*]}" >&2; exit 2; }
  [[ " ${groups[*]-} " == *" $1 "* ]] && return
  groups+=("$1")
  local other
  for other in ${needs[$1]:-}; do add_group "$other"; done
}
[ $# -gt 0 ] || set -- native test web browser lint
for group in "$@"; do add_group "$group"; done

install_packages() {
  command -v apt-get >/dev/null || { echo "setup.sh: this is not Debian; please install: $*" >&2; exit 1; }
  local install=(apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 "$@")
  local update=(apt-get update -qq)
  local as_root=(env DEBIAN_FRONTEND=noninteractive)
  if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      echo "setup.sh: packages are missing and root rights are needed. Run this, then try again:" >&2
      echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $*" >&2
      exit 1
    fi
    as_root=(sudo -n "${as_root[@]}")
  fi
  local log
  log=$(mktemp)
  echo "installing from Debian: $*"
  # The package lists are fetched only if they do not know a package or are too old to install from.
  if ! apt-cache show "$@" >/dev/null 2>&1; then "${as_root[@]}" "${update[@]}" >"$log" 2>&1 || true; fi
  if ! "${as_root[@]}" "${install[@]}" >>"$log" 2>&1 &&
    ! { "${as_root[@]}" "${update[@]}" && "${as_root[@]}" "${install[@]}"; } >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "setup.sh: apt-get could not install: $*" >&2
    exit 1
  fi
  rm -f "$log"
}

# One call of dpkg-query for all of them: it prints a line for each package that is installed.
wanted=()
for group in "${groups[@]}"; do
  for package in ${debian[$group]}; do wanted+=("$package"); done
done
present=" $(dpkg-query -W -f '${db:Status-Status} ${Package} ' "${wanted[@]}" 2>/dev/null || true) "
missing=()
for package in "${wanted[@]}"; do
  if [[ "$present" != *" installed $package "* && " ${missing[*]-} " != *" $package "* ]]; then missing+=("$package"); fi
done
# Node.js may come from elsewhere (its own archive brings npm along, Debian has npm in a second package).
command -v node >/dev/null || missing+=(nodejs)
if [ ${#missing[@]} -gt 0 ]; then install_packages "${missing[@]}"; fi
command -v npm >/dev/null || install_packages npm

node_major=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
if [ "$node_major" -lt 20 ]; then
  echo "setup.sh: Node.js 20 or newer is needed, this is $(node --version); see https://nodejs.org" >&2
  exit 1
fi

# All npm packages, exactly those of the lock file. Scripts of packages do not run (.npmrc).
install_npm() {
  local stamp=node_modules/.tandem-lock
  cmp -s package-lock.json "$stamp" && return
  echo "installing npm packages"
  npm ci --silent --no-progress || { echo "setup.sh: npm ci failed" >&2; exit 1; }
  cp package-lock.json "$stamp"
}

# The weights alone: one package, unpacked and checked by hand, since its dependencies are large and not needed.
install_weights() {
  local folder=node_modules/@ricky0123/vad-web
  [ -f "$folder/dist/silero_vad_v6.onnx" ] && [ -f "$folder/dist/silero_vad_v5.onnx" ] && return
  local work version expected
  read -r version expected < <(node -e '
    const entry = require("./package-lock.json").packages["node_modules/@ricky0123/vad-web"];
    console.log(entry.version, entry.integrity.replace("sha512-", ""));')
  echo "fetching the Silero weights (npm @ricky0123/vad-web $version)"
  work=$(mktemp -d)
  (cd "$work" && npm pack --silent "@ricky0123/vad-web@$version" >/dev/null) ||
    { echo "setup.sh: npm pack @ricky0123/vad-web@$version failed" >&2; exit 1; }
  if [ "$(sha512sum "$work"/*.tgz | cut -d ' ' -f 1)" != "$(base64 -d <<<"$expected" | od -An -v -tx1 | tr -d ' \n')" ]; then
    echo "setup.sh: the sha512 of @ricky0123/vad-web $version is not the one in package-lock.json" >&2
    exit 1
  fi
  tar -xzf "$work"/*.tgz -C "$work"
  mkdir -p "$(dirname "$folder")"
  rm -rf "$folder"
  mv "$work/package" "$folder"
  rm -rf "$work"
}

if [[ " ${groups[*]} " == *" npm "* ]]; then
  install_npm
elif [[ " ${groups[*]} " == *" weights "* ]]; then
  install_weights
fi
