#!/bin/bash
# Passes if FILE does not compile and the compiler's message contains every text that the file expects.
# Usage: tests/checks/compile_failure.sh COMPILER FILE
# In FILE:  // expect: TEXT    (one or more);   // expect: compiles   for the control that must be accepted
set -uo pipefail
compiler=$1 file=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
mapfile -t expected < <(sed -n 's|^// expect: ||p' "$file")
[ ${#expected[@]} -gt 0 ] || { echo "$file has no line \"// expect: TEXT\""; exit 1; }

message=$("$compiler" -std=c++20 -fsyntax-only -I "$root" -I "$root/include" "$file" 2>&1)
code=$?
if [ "${expected[0]}" = compiles ]; then
  [ $code -eq 0 ] || { echo "$file must compile:"; printf '%s\n' "$message"; exit 1; }
  exit 0
fi
[ $code -ne 0 ] || { echo "$file compiles, but must not"; exit 1; }
for text in "${expected[@]}"; do
  grep -qF -- "$text" <<<"$message" || { echo "the message does not contain: $text"; printf '%s\n' "$message"; exit 1; }
done
