#!/bin/bash
# clang-tidy on the C++ files that changed, or on all of them.
# Usage: tests/checks/tidy.sh [--all | --since COMMIT]
#   needs a configured build/native; files that the web build alone compiles are checked when build/web is configured
#   without an option   what differs from the branch that this one goes to, what is not committed, and the files that
#                       changed last, until 40 files are not known to be clean
#   --since COMMIT      what differs from COMMIT
# A header is checked through one file that includes it. A file is known to be clean when it was, with the same content
# of itself and all project headers that it includes, the same flags, checks and clang-tidy: such files cost nothing.
# What is known lies in $XDG_CACHE_HOME/tandem-build/tidy; removing that folder has everything checked again.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2

readonly newest=40
readonly database=build/native/compile_commands.json web_database=build/web/compile_commands.json
known=${XDG_CACHE_HOME:-$HOME/.cache}/tandem-build/tidy
[ -f "$database" ] || { echo "tidy: $database is missing; run cmake --preset native" >&2; exit 2; }
tidy=$(command -v clang-tidy-22) || { echo "tidy: clang-tidy-22 is missing; run tools/setup.sh lint" >&2; exit 2; }
databases=("$database")
[ ! -f "$web_database" ] || databases+=("$web_database")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$known" "$work/keys" "$work/failed" && find "$known" -type f -mtime +30 -delete

# The branch that this one goes to: nothing on that branch itself, where the files that changed last stand for it.
target_commit() {
  local branch commit
  for branch in '@{upstream}' origin/HEAD origin/main main; do
    commit=$(git merge-base HEAD "$branch" 2>/dev/null) || continue
    if [ "$commit" != "$(git rev-parse HEAD)" ]; then echo "$commit"; return; fi
  done
}
# What differs from a commit, committed or not.
changed_since() { git diff --name-only --diff-filter=d "$1"; git ls-files --others --exclude-standard; }
# All files, the last change first.
by_age() { git log --format= --name-only --no-renames; git ls-files; }

sources() { git ls-files --cached --others --exclude-standard '*.cc' '*.h' '*.def'; }
limit=1000000
case "${1:-}" in
  --all) sources >"$work/asked" ;;
  --since) changed_since "${2:?"--since needs a commit"}" >"$work/asked" || exit 2 ;;
  "")
    limit=$newest
    base=$(target_commit)
    changed_since "${base:-HEAD}" >"$work/asked"
    by_age >"$work/more"
    ;;
  *) sed -n '3,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
touch "$work/more"

# One file per source file of the database with everything that decides what clang-tidy says about it.
sources | while read -r file; do [ ! -f "$file" ] || echo "$file"; done >"$work/sources"
xargs sha256sum <"$work/sources" >"$work/hashes"
xargs grep -HE '^[ \t]*#[ \t]*include[ \t]*["<]' <"$work/sources" >"$work/includes"
{ "$tidy" --version; grep -hv '^#' .clang-tidy */.clang-tidy; cat /etc/debian_version; } 2>/dev/null | sha256sum >"$work/checker"
awk -v work="$work" -v root="$PWD/" '
  function add(file, seen, into,    i) {
    if (file in seen) return
    seen[file] = 1
    into[++into[0]] = file
    for (i = 1; i <= count[file]; i++) add(target[file, i], seen, into)
  }
  FILENAME ~ /hashes$/ { hash[$2] = $1; next }
  FILENAME ~ /checker$/ { checker = $0; next }
  FILENAME ~ /includes$/ {
    split($0, quoted, /["<>]/); file = substr($0, 1, index($0, ":") - 1); name = quoted[2]
    if (!(name in hash)) name = "include/" name
    if (name in hash) target[file, ++count[file]] = name
    next
  }
  /^  "command": / { command = $0; gsub(root, "", command) }
  /^  "file": / {
    split($0, quoted, "\""); file = quoted[4]
    if (index(file, root) != 1) next
    file = substr(file, length(root) + 1)
    if (!(file in hash) || (file in done)) next
    done[file] = 1
    delete seen; delete all; all[0] = 0
    add(file, seen, all)
    folder = FILENAME; sub("/[^/]*$", "", folder); print file, folder >(work "/folders")
    gsub("/", "%", file); key = work "/keys/" file
    print checker command >key
    for (i = 1; i <= all[0]; i++) { print hash[all[i]], all[i] >key; print all[i], key >(work "/closures") }
    close(key)
  }' "$work/hashes" "$work/checker" "$work/includes" "${databases[@]}"
(cd "$work/keys" && sha256sum -- *) | sed 's|%|/|g' >"$work/units"

# The files to check: a source file stands for itself, a header for the file of its name or else the first that
# includes it. Those that were asked for, and of the others the first that are not known to be clean.
(cd "$known" && ls) >"$work/clean"
awk -v work="$work" -v limit="$limit" '
  FILENAME ~ /clean$/ { clean[$1] = 1; next }
  FILENAME ~ /units$/ { key[$2] = $1; next }
  FILENAME ~ /folders$/ { folder[$1] = $2; next }
  FILENAME ~ /closures$/ {
    unit = $2; sub(/.*\/keys\//, "", unit); gsub("%", "/", unit)
    stem = $1; sub(/\.[a-z]+$/, ".cc", stem)
    if (!($1 in stands) || unit == stem) stands[$1] = unit
    next
  }
  {
    unit = $1 in key ? $1 : stands[$1]
    if (unit == "" || (unit in taken)) next
    if (FILENAME ~ /more$/ && todo >= limit) exit
    taken[unit] = 1
    if (key[unit] in clean) { print key[unit] >(work "/known"); next }
    todo++
    print key[unit], unit, folder[unit]
  }' "$work/clean" "$work/units" "$work/folders" "$work/closures" "$work/asked" "$work/more" >"$work/todo"
touch "$work/known"
(cd "$known" && xargs -r touch -c <"$work/known")

# What em++ tells its clang beyond the command line in the database.
sysroot=$(NODE_PATH=/usr/share/nodejs em++ --cflags 2>/dev/null | grep -o -- '--sysroot=[^ ]*')
web_arguments="--target=wasm32-unknown-emscripten $sysroot -iwithsysroot/include/compat -D_LIBCPP_ABI_VERSION=2"

export tidy work known web_arguments
check_one() {
  local key=$1 file=$2 folder=$3 log more=() argument
  log=$work/failed/$(tr / % <<<"$file")
  if [ "$folder" = build/web ]; then for argument in $web_arguments; do more+=(--extra-arg="$argument"); done; fi
  if "$tidy" --quiet -p "$folder" "${more[@]}" "$file" >"$log" 2>/dev/null; then rm -f "$log"; : >"$known/$key"; fi
}
export -f check_one
# shellcheck disable=SC2016  # the inner shell expands it
xargs -r -P "$(nproc)" -L 1 bash -c 'check_one "$@"' _ <"$work/todo"
checked=$(wc -l <"$work/todo")
clean=$(wc -l <"$work/known")
failed=$(find "$work/failed" -type f | wc -l)
find "$work/failed" -type f -exec cat {} +
echo "$checked files checked, $clean known to be clean"
echo "tidy: $((checked + clean - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
