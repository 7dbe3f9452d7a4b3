// Draws what `tandem vad --format json --probabilities` found as a timeline for a terminal.
// Usage: node timeline.mjs SOUND RESULT.json
import { readFileSync } from "node:fs";

const [, , soundPath, resultPath] = process.argv;
const result = JSON.parse(readFileSync(resultPath, "utf8"));
const columns = Math.max(40, Math.min(process.stdout.columns ?? 100, 120) - 14);
const bars = " ▁▂▃▄▅▆▇█";

/** The 16-bit samples of a WAV file as numbers from 0 to 1; null for anything else. */
function envelope(path, count) {
  const bytes = readFileSync(path);
  if (bytes.length < 44 || bytes.toString("latin1", 0, 4) !== "RIFF") return null;
  for (let at = 12, channels = 1; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt32LE(at + 4);
    const kind = bytes.toString("latin1", at, at + 4);
    if (kind === "fmt ") {
      channels = bytes.readUInt16LE(at + 10);
      if (bytes.readUInt16LE(at + 8) !== 1 || bytes.readUInt16LE(at + 22) !== 16) return null;
    }
    if (kind === "data") {
      const end = Math.min(bytes.length, at + 8 + size);
      const frames = Math.floor((end - at - 8) / (2 * channels));
      const peaks = new Array(count).fill(0);
      for (let frame = 0; frame < frames; frame++) {
        const column = Math.floor((frame * count) / frames);
        const value = Math.abs(bytes.readInt16LE(at + 8 + frame * 2 * channels)) / 32768;
        if (value > peaks[column]) peaks[column] = value;
      }
      return peaks;
    }
    at += 8 + size + (size % 2);
  }
  return null;
}

/** One value per column: the largest of the values that fall into it. */
function resample(values, count) {
  return Array.from({ length: count }, (_, column) => {
    const begin = Math.floor((column * values.length) / count);
    const end = Math.max(begin + 1, Math.floor(((column + 1) * values.length) / count));
    return Math.max(...values.slice(begin, end), 0);
  });
}

const draw = (values) => values.map((value) => bars[Math.round(Math.min(1, value) * (bars.length - 1))]).join("");
const line = (name, text) => console.log(`${name.padEnd(12)} ${text}`);

const seconds = result.samples / result.sample_rate;
const peaks = envelope(soundPath, columns);
if (peaks) {
  const loudest = Math.max(...peaks, 1e-9);
  line("sound", draw(peaks.map((peak) => peak / loudest)));
}
line("probability", draw(resample(result.probabilities, columns)));
const inSpeech = (column) => {
  const sample = ((column + 0.5) / columns) * result.samples;
  return result.segments.some((segment) => segment.start_sample <= sample && sample < segment.end_sample);
};
line("speech", Array.from({ length: columns }, (_, column) => (inSpeech(column) ? "█" : "·")).join(""));
const middle = `${(seconds / 2).toFixed(1)} s`;
const end = `${seconds.toFixed(1)} s`;
const half = Math.floor(columns / 2);
line("", "0".padEnd(half) + middle.padEnd(columns - half - end.length) + end);
console.log();
for (const segment of result.segments) {
  console.log(`  speech from ${segment.start.toFixed(2)} s to ${segment.end.toFixed(2)} s`);
}
if (result.segments.length === 0) console.log("  no speech");
