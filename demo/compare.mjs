// Compares two results of `tandem vad --format json --probabilities`.
// Usage: node compare.mjs A.json B.json      exit code 1 when the segments differ
import { readFileSync } from "node:fs";

const [a, b] = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, "utf8")));
let largest = Math.abs(a.probabilities.length - b.probabilities.length);
for (let i = 0; i < Math.min(a.probabilities.length, b.probabilities.length); i++) {
  largest = Math.max(largest, Math.abs(a.probabilities[i] - b.probabilities[i]));
}
const same = JSON.stringify(a.segments) === JSON.stringify(b.segments);
console.log(`largest difference of ${a.probabilities.length} probabilities: ${largest.toExponential(1)}`);
console.log(`segments: ${same ? "the same" : "DIFFERENT"}`);
process.exit(same ? 0 : 1);
