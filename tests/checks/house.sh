#!/bin/bash
# Checks that need no compiler: length of files, forbidden words, direction of includes, format, lock file.
# Usage: tests/checks/house.sh       prints what is wrong with file and line; exits 1 if anything is
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2

passed=0
failed=0
# report NAME OUTPUT: one check, passed when its output is empty.
report() {
  if [ -z "$2" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "house: $1"
    printf '%s\n' "$2" | head -n 40 | sed 's/^/  /'
  fi
}

# Tracked and new files that git does not ignore; this script holds the patterns and is left out of the word checks.
mapfile -t files < <(git ls-files --cached --others --exclude-standard | while read -r f; do [ -f "$f" ] && echo "$f"; done)
select_files() { printf '%s\n' "${files[@]}" | grep -E "$1" || true; }
mapfile -t cpp < <(select_files '\.(cc|h|def)$')
mapfile -t written < <(select_files '(\.(cc|h|def|js|mjs|ts|cmake|sh|md|html|css|py)|CMakeLists\.txt|/run)$' | grep -v '^tests/checks/house.sh$')
mapfile -t code < <(printf '%s\n' "${written[@]}" | grep -v '\.md$')
search() { local pattern=$1; shift; [ $# -eq 0 ] || grep -nHE -e "$pattern" "$@" 2>/dev/null || true; }

report "files are at most 500 lines long" \
  "$(for f in "${code[@]}"; do n=$(wc -l <"$f"); [ "$n" -le 500 ] || echo "$f: $n lines"; done)"
report "README files of folders are at most 30 lines long" \
  "$(select_files '.+/README\.md$' | while read -r f; do n=$(wc -l <"$f"); [ "$n" -le 30 ] || echo "$f: $n lines"; done)"
report "Markdown begins with a title" \
  "$(select_files '\.md$' | while read -r f; do head -1 "$f" | grep -q '^# [^ ]' || echo "$f: $(head -1 "$f")"; done)"
report "lines of C++ are at most 120 columns wide" \
  "$(for f in "${cpp[@]}"; do [[ "$f" == *.def ]] || awk 'length($0) > 120 { print FILENAME ":" FNR }' "$f"; done)"
report "nothing is left to be done later" "$(search '\b(TODO|FIXME|XXX|HACK)\b' "${code[@]}")"
report "no test is skipped or switched off" \
  "$(search 'GTEST_SKIP|DISABLED_|\b(test|it|describe|t)\.(skip|todo|only)\b|\b(skip|todo): *(true|.[A-Za-z])' "${code[@]}")"
report "no path of one machine" "$(search '(^|[^A-Za-z0-9_.}])/(work|root|home)/' "${written[@]}")"
report "no host of a package registry" \
  "$(search 'registry\.(npmjs|yarnpkg)|npmjs\.org|deb\.debian\.org|"resolved"' "${written[@]}" package-lock.json .npmrc)"
report "no fast-math" "$(search '-ffast-math|-Ofast|-funsafe-math|-fassociative-math' "${code[@]}")"
report "headers start with #pragma once" \
  "$(for f in "${cpp[@]}"; do [[ "$f" != *.h ]] || grep -q '^#pragma once$' "$f" || echo "$f"; done)"

# Who may include whom. A number is the place in the order of the layers: a file includes its own layer and those before.
# The tensor layer writes graphs and the schedule writes kernels, so that graph and kernel stand before their writers.
layers='base=0 index=1 graph=2 tensor=3 rewrite=4 kernel=5 schedule=6 backend=7 plan=8 jit=9 weights=10 text=11 audio=12 models=13'
report "includes point backward only, from the root" "$([ ${#cpp[@]} -eq 0 ] || awk -v layers="$layers" '
  BEGIN { split(layers, pairs, " "); for (i in pairs) { split(pairs[i], p, "="); rank["core/" p[1]] = p[2] } }
  function part(path, s) { split(path, s, "/"); return s[1] == "core" || s[1] == "backends" ? s[1] "/" s[2] : s[1] }
  function top(path, s) { split(path, s, "/"); return s[1] }
  /^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\""); to = quoted[2]; from = FILENAME
    if (to ~ /^\.\.?\//) { print from ":" FNR ": relative include of " to; next }
    a = top(from); b = top(to); bad = 0
    if (a == "core" && (b == "backends" || b == "native" || b == "web" || b == "tests" || b == "demo")) bad = 1
    if (a == "backends" && (b == "native" || b == "web" || b == "tests" || b == "demo")) bad = 1
    if ((a == "native" || a == "web") && (b == "tests" || b == "demo")) bad = 1
    if (a == "native" && b == "web" || a == "web" && b == "native") bad = 1
    if (a == "backends" && b == "backends" && part(from) != part(to)) bad = 1
    if (a == "core" && b == "core") {
      if (!(part(from) in rank) || !(part(to) in rank)) bad = 1
      else if (rank[part(to)] + 0 > rank[part(from)] + 0) bad = 1
    }
    if (bad) print from ":" FNR ": " part(from) " must not include " to
  }' "${cpp[@]}")"
mapfile -t demos < <(select_files '^demo/.*\.(cc|h)$')
report "demos include public headers only" "$(search '#include "' "${demos[@]}")"

# The last column of the wrapper's table names the suites that test each row.
suites() { awk -F '|' 'NF > 4 { print $(NF - 1) }' core/jit/wrapper_table.md | grep -o '`[^`]*`' | tr -d '`' | sort -u; }
report "every suite that the wrapper's table names exists" "$(suites | while read -r suite; do
  case "$suite" in
    */) [ -d "tests/$suite" ] || echo "core/jit/wrapper_table.md: no folder tests/$suite" ;;
    *) grep -rqE "^TEST(_F|_P)?\($suite," tests || echo "core/jit/wrapper_table.md: no suite $suite" ;;
  esac
done)$(awk -F '|' 'NF > 4 && $2 !~ /^ there |^---/ && $(NF - 1) !~ /`/ { print FILENAME ":" FNR ": no test" }' core/jit/wrapper_table.md)"

format=$(command -v clang-format-22 || true)
if [ -z "$format" ]; then
  report "clang-format" "clang-format-22 is missing; run tools/setup.sh lint"
else
  mapfile -t formatted < <(select_files '\.(cc|h)$')
  report "clang-format (fix: clang-format-22 -i FILE)" \
    "$([ ${#formatted[@]} -eq 0 ] || "$format" --dry-run "${formatted[@]}" 2>&1 | grep -E 'warning|error' | cut -d : -f 1 | sort | uniq -c | awk '{ print $2 ": " $1 " places" }')"
fi
if command -v shellcheck >/dev/null; then
  mapfile -t scripts < <(for f in "${files[@]}"; do head -n 1 "$f" | grep -q '^#!/bin/\(ba\)\?sh' && echo "$f"; done 2>/dev/null)
  report "shellcheck" "$([ ${#scripts[@]} -eq 0 ] || shellcheck --severity=warning --format=gcc "${scripts[@]}")"
fi

echo "house: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
