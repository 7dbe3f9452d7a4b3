// Draws what gemm_bench measured as a roofline: build/native/gemm_bench --json | node tests/bench/roofline.mjs > roofline.svg
// Across: operations for each byte that must be moved; up: operations a second; both logarithmic. The roofs are the peaks
// and the bandwidths of reading that were measured in the same run.
import { readFileSync } from 'node:fs';

const WIDTH = 860;
const HEIGHT = 500;
const EDGE = { left: 64, right: 24, top: 34, bottom: 52 };
const COLOURS = { avx512: '#1f5fa8', avx2: '#2a8a57', 'sse+fma': '#b3541e', sse: '#7a4ea3' };

const { rows } = JSON.parse(readFileSync(0, 'utf8'));
const points = rows.filter((row) => typeof row['GFLOP/s'] === 'number').map((row) => {
  const at = row.name.lastIndexOf(', ');
  return { name: row.name.slice(0, at), isa: row.name.slice(at + 2), intensity: row['flop/byte'],
    rate: row['GFLOP/s'], peak: row.peak, share: row['% of peak'] };
});
if (points.length === 0) throw new Error('no row has operations: give the output of gemm_bench --json');
const isas = [...new Set(points.map(({ isa }) => isa))];
const middle = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const peaks = Object.fromEntries(isas.map((isa) => [isa, middle(points.filter((p) => p.isa === isa).map((p) => p.peak))]));
const bandwidths = rows.map((row) => row['read GB/s']).filter((value) => typeof value === 'number');

const range = (values) => [10 ** Math.floor(Math.log10(Math.min(...values))), 10 ** Math.ceil(Math.log10(Math.max(...values)))];
const across = range(points.map(({ intensity }) => intensity));
const up = range([...points.map(({ rate }) => rate), ...Object.values(peaks)]);
const share = (value, [low, high]) => Math.log(value / low) / Math.log(high / low);
const x = (value) => EDGE.left + share(value, across) * (WIDTH - EDGE.left - EDGE.right);
const y = (value) => HEIGHT - EDGE.bottom - share(value, up) * (HEIGHT - EDGE.top - EDGE.bottom);

const escape = (text) => text.replace(/[<>&]/g, (c) => ({ '<': '&lt;', '>': '&gt;', '&': '&amp;' })[c]);
const text = (left, top, content, more = '') =>
  `<text x="${left.toFixed(1)}" y="${top.toFixed(1)}" ${more}>${escape(content)}</text>`;
const line = (x1, y1, x2, y2, more) =>
  `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" ${more}/>`;

const parts = [];
for (let value = across[0]; value <= across[1]; value *= 10) {
  parts.push(line(x(value), y(up[0]), x(value), y(up[1]), 'stroke="#dddddd"'));
  parts.push(text(x(value), HEIGHT - EDGE.bottom + 18, String(Number(value.toPrecision(1))), 'text-anchor="middle"'));
}
for (let value = up[0]; value <= up[1]; value *= 10) {
  parts.push(line(x(across[0]), y(value), x(across[1]), y(value), 'stroke="#dddddd"'));
  parts.push(text(EDGE.left - 8, y(value) + 4, String(Number(value.toPrecision(1))), 'text-anchor="end"'));
}
parts.push(text(WIDTH / 2, HEIGHT - 12, 'operations for each byte', 'text-anchor="middle"'));
parts.push(text(EDGE.left, 20, 'GFLOP/s'));

// From memory to the roof: the slowest reading is that of weights that no cache holds.
const highest = Math.max(...Object.values(peaks));
for (const bandwidth of bandwidths.length > 0 ? [Math.min(...bandwidths), Math.max(...bandwidths)] : []) {
  const from = Math.max(across[0], up[0] / bandwidth);
  const to = highest / bandwidth;
  if (to <= from) continue;
  parts.push(line(x(from), y(from * bandwidth), x(to), y(highest), 'stroke="#888888" stroke-dasharray="6 4"'));
  parts.push(text(x(to) + 4, y(highest) - 6, `${bandwidth.toFixed(0)} GB/s`, 'fill="#666666" text-anchor="end"'));
}
// Labels that would lie on others are left out, roofs' are moved aside; each point has its name and numbers as a title.
const labels = [];
const isFree = (left, top) => !labels.some(([l, t]) => Math.abs(l - left) < 150 && Math.abs(t - top) < 13);
isas.forEach((isa, i) => {
  const colour = COLOURS[isa] ?? '#333333';
  parts.push(line(x(across[0]), y(peaks[isa]), x(across[1]), y(peaks[isa]), `stroke="${colour}" stroke-width="1.5"`));
  const place = [EDGE.left + 8, y(peaks[isa]) + 14];
  while (!isFree(...place)) place[0] += 160;
  labels.push(place);
  parts.push(text(...place, `${isa}: ${peaks[isa].toFixed(0)} GFLOP/s`, `fill="${colour}"`));
  for (const point of points.filter((p) => p.isa === isa)) {
    parts.push(`<circle cx="${x(point.intensity).toFixed(1)}" cy="${y(point.rate).toFixed(1)}" r="4" fill="${colour}" ` +
      `fill-opacity="0.8"><title>${escape(`${point.name}, ${isa}: ${point.rate.toFixed(1)} GFLOP/s, ` +
      `${point.share.toFixed(0)} % of the peak`)}</title></circle>`);
    const label = [x(point.intensity) - 7, y(point.rate) + 14];
    if (i > 0 || !isFree(...label)) continue;
    labels.push(label);
    parts.push(text(...label, point.name, 'text-anchor="end" fill="#333333"'));
  }
});

console.log(`<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" ` +
  `font-family="sans-serif" font-size="12">\n<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>\n` +
  `${parts.join('\n')}\n</svg>`);
