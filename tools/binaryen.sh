#!/bin/bash
# Builds a part of Binaryen as a static archive and prints the folder that holds it:
#   <folder>/libbinaryen_encoder.a (13 of its source files) or <folder>/libbinaryen_text.a (4 more, which print
#   WebAssembly text and need the encoder), and <folder>/include/{src,fp16}.
# Usage: tools/binaryen.sh native|web|text     native, web: the encoder for this target; text: the printer, native only
# The result is kept outside the checkout, one folder per version, flags and compiler, and is shared by all checkouts.
set -euo pipefail

target=${1:-}
version=132.0.0
package="@grain/libbinaryen@$version"
integrity="IqjPFtuSfxskYrQ97K8iMGgcpXqQd+M5syWdvQUNYVzLEj3Yntf/OSIWpc1+yuY7/Tn+ISOpCh5pAfwCNyleyQ=="
sources=(wasm/{wasm-binary,wasm-stack,wasm,wasm-type,literal,wasm-debug} support/{istring,string,bits}
  ir/{module-utils,table-utils,memory-utils,intrinsics})
archive=libbinaryen_encoder.a
flags=(-std=c++20 -fno-rtti -DNDEBUG -w -ffp-contract=off -ffunction-sections -fdata-sections)

case "$target" in
  native | text)
    compiler=${TANDEM_BINARYEN_CXX:-clang++-22}
    archiver=${TANDEM_BINARYEN_AR:-ar}
    flags+=(-O2 -g0 -fPIC)
    if [ "$target" = text ]; then
      archive=libbinaryen_text.a
      sources=(passes/Print support/{colors,name,safe_integer})
    fi
    ;;
  web)
    compiler=${TANDEM_BINARYEN_CXX:-em++}
    archiver=${TANDEM_BINARYEN_AR:-emar}
    # em++ adds -fno-inline-functions at -Oz by itself, which makes encoding three to four times slower.
    flags+=(-Oz -finline-functions -fwasm-exceptions)
    export NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
    ;;
  *)
    echo "usage: tools/binaryen.sh native|web|text" >&2
    exit 2
    ;;
esac
command -v "$compiler" >/dev/null || { echo "binaryen.sh: $compiler is missing; run tools/setup.sh ${target/text/native}" >&2; exit 1; }

cache=${TANDEM_THIRD_PARTY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tandem/third_party}
# Not through a pipe to head: em++ fails when nobody reads the rest of what it prints.
compiler_version=$("$compiler" --version)
key=$({ echo "$integrity" "${sources[@]}" "${flags[@]}"; head -n 2 <<<"$compiler_version"; } | sha256sum | cut -c 1-16)
result="$cache/binaryen-$version-$target-$key"
if [ -f "$result/$archive" ]; then
  echo "$result"
  exit 0
fi

mkdir -p "$cache"
exec 8>"$cache/binaryen-$target.lock"
flock 8
if [ -f "$result/$archive" ]; then
  echo "$result"
  exit 0
fi

# Everything happens in a folder of its own; only the finished result gets the name that others look for.
rm -rf "$cache/binaryen-$target-build".* # left by an interrupted run; the lock is ours
work=$(mktemp -d "$cache/binaryen-$target-build.XXXXXX")
trap 'rm -rf "$work"' EXIT

fetch_sources() {
  local tarball="$cache/libbinaryen-$version.tgz"
  if ! check_integrity "$tarball"; then
    command -v npm >/dev/null || { echo "binaryen.sh: npm is missing; run tools/setup.sh ${target/text/native}" >&2; return 1; }
    (cd "$work" && npm pack --silent "$package" >/dev/null) || { echo "binaryen.sh: npm pack $package failed" >&2; return 1; }
    check_integrity "$work"/*.tgz || { echo "binaryen.sh: the sha512 of $package is not the expected one" >&2; return 1; }
    mv "$work"/*.tgz "$tarball"
  fi
  tar -xzf "$tarball" -C "$work" libbinaryen/binaryen/src libbinaryen/binaryen/third_party/FP16
}

check_integrity() {
  [ -f "$1" ] || return 1
  [ "$(sha512sum "$1" | cut -d ' ' -f 1)" = "$(base64 -d <<<"$integrity" | od -An -v -tx1 | tr -d ' \n')" ]
}

echo "building $archive of Binaryen ($target), once" >&2
fetch_sources
root="$work/libbinaryen/binaryen"
mkdir -p "$work/out/include" "$work/objects"
export compiler root work
export flags_line="${flags[*]} -I $root/src -I $root/third_party/FP16/include"
compile_one() {
  # shellcheck disable=SC2086  # the flags are a list of words without spaces
  "$compiler" $flags_line -c "$root/src/$1.cpp" -o "$work/objects/$(basename "$1").o"
}
export -f compile_one
# shellcheck disable=SC2016  # the inner shell expands it
printf '%s\n' "${sources[@]}" | xargs -P "${TANDEM_JOBS:-2}" -I {} bash -c 'compile_one "$1"' _ {} >&2
"$archiver" rcs "$work/out/$archive" "$work"/objects/*.o
(cd "$root/src" && find . \( -name '*.h' -o -name '*.def' -o -name '*.inc' \) -print0 | xargs -0 cp --parents -t "$work/out/include")
cp -r "$root/third_party/FP16/include/." "$work/out/include/"
cp "$root/LICENSE" "$work/out/" 2>/dev/null || true
rm -rf "$result"
mv "$work/out" "$result"
echo "$result"
