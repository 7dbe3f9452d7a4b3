#!/bin/bash
# clang-tidy on the C++ files that differ from a commit (default: the newest one before HEAD), or on all of them.
# Usage: tests/checks/tidy.sh [--all | --since COMMIT]      needs a configured build/native
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2

database=build/native/compile_commands.json
[ -f "$database" ] || { echo "tidy: $database is missing; run cmake --preset native" >&2; exit 2; }
tidy=$(command -v clang-tidy-22) || { echo "tidy: clang-tidy-22 is missing; run tools/setup.sh lint" >&2; exit 2; }

case "${1:-}" in
  --all) mapfile -t changed < <(git ls-files '*.cc') ;;
  --since) mapfile -t changed < <(git diff --name-only --diff-filter=d "$2" -- '*.cc') ;;
  "") mapfile -t changed < <(git diff --name-only --diff-filter=d "HEAD~1" -- '*.cc' 2>/dev/null || git ls-files '*.cc') ;;
  *) echo "usage: tests/checks/tidy.sh [--all | --since COMMIT]" >&2; exit 2 ;;
esac

files=()
for file in "${changed[@]}"; do
  # Files of other presets (web) are not in this database.
  if grep -qF "$PWD/$file" "$database"; then files+=("$file"); fi
done
[ ${#files[@]} -gt 0 ] || { echo "tidy: 0 passed, 0 failed"; exit 0; }

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
export tidy results
check_one() {
  local log
  log="$results/$(tr / _ <<<"$1")"
  if "$tidy" --quiet -p build/native "$1" >"$log" 2>/dev/null; then rm -f "$log"; else mv "$log" "$log.failed"; fi
}
export -f check_one
# shellcheck disable=SC2016  # the inner shell expands it
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I {} bash -c 'check_one "$1"' _ {}
failed=$(find "$results" -name '*.failed' | wc -l)
cat "$results"/*.failed 2>/dev/null
echo "tidy: $((${#files[@]} - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
