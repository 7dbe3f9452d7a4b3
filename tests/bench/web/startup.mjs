// From nothing to the first probability in Chromium, each time in a browser that has never seen the page before:
// node tests/bench/web/startup.mjs [--runs N] [--package FOLDER] [--pause MS] [--cold] [--flags "--js-flags=..."] [--json]
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startServer } from '../../../demo/web/server.mjs';
import { launch } from '../../browser/support.mjs';
import { needPackage, packageFolder, root } from '../../web/files.mjs';
import { threadClock } from './thread_clock.mjs';

// Looked up in the browser's cache before anything is kept there, and on the second visit what the first one kept.
const STAGES = ['createEngine', 'weights', 'fetchKept', 'prepare', 'step', 'prepare', 'step', 'prepare', 'prepare',
  'prepare', 'keep'];

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '7' },
    package: { type: 'string', default: packageFolder },
    cold: { type: 'boolean', default: false },
    pause: { type: 'string', default: '0' },
    flags: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
  },
});

needPackage(options.package);

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

// Browsers keep compiled code only with a file that they may keep.
const server = await startServer(
  {
    '/': join(root, 'tests/bench/web/page'),
    '/tandem/': options.package,
    '/weights/': join(root, 'node_modules/@ricky0123/vad-web/dist'),
  },
  0,
  { cacheControl: 'max-age=3600' },
);

/** What each stage takes on a page: { name: { wall, cpu } }, the second the time of the page's own thread. */
async function measure(context) {
  const page = await context.newPage();
  page.on('pageerror', (error) => console.error(String(error)));
  const cpu = await threadClock(page);
  await page.goto(`${server.url}startup.html${options.cold ? '?cold' : ''}`);
  await page.waitForFunction(() => window.stages, null, { timeout: 120000 });
  const rows = {};
  const counts = {};
  for (const stage of STAGES) {
    counts[stage] = (counts[stage] ?? 0) + 1;
    const name = STAGES.filter((one) => one === stage).length > 1 ? `${stage} ${counts[stage]}` : stage;
    // As long as a download of the weights takes.
    if (stage === 'weights') await page.waitForTimeout(Number(options.pause));
    const before = await cpu();
    const { milliseconds, timings } = await page.evaluate((one) => window.stages[one](), stage);
    rows[name] = { wall: milliseconds, cpu: (await cpu()) - before };
    for (const [part, wall] of Object.entries(timings ?? {})) {
      if (counts[stage] <= 2 && part !== 'prepareMs') rows[`  ${name}: ${part}`] = { wall, cpu: NaN };
    }
  }
  return { page, rows };
}

/** A page in a browser of its own, and the same page once more: what the browser kept is worth something then. */
async function visit() {
  const { context, close } = await launch(options.flags.split(' ').filter(Boolean));
  try {
    const first = await measure(context);
    // Code goes into the browser's cache some seconds after it was compiled.
    await first.page.waitForTimeout(4000);
    await first.page.close();
    return [first.rows, (await measure(context)).rows];
  } finally {
    await close();
  }
}

const visits = [];
try {
  for (let i = 0; i < Number(options.runs); i++) visits.push(await visit());
} finally {
  await server.close();
}
const table = Object.fromEntries(Object.keys(visits[0][0]).map((name) => {
  const all = (number, clock) => visits.map((one) => one[number][name][clock]);
  return [name, {
    wall: median(all(0, 'wall')), smallest: Math.min(...all(0, 'wall')), largest: Math.max(...all(0, 'wall')),
    cpu: median(all(0, 'cpu')), againWall: median(all(1, 'wall')), againCpu: median(all(1, 'cpu')),
  }];
}));
if (options.json) {
  console.log(JSON.stringify({ runs: visits.length, load: loadavg()[0], milliseconds: table }));
} else {
  console.log(`Milliseconds, medians of ${visits.length} browsers (load of the machine: ${loadavg()[0].toFixed(1)})`);
  console.log(`${''.padEnd(28)}${'first visit'.padStart(12)}${'from .. to'.padStart(14)}${'CPU'.padStart(8)}` +
    `${'second visit'.padStart(16)}${'CPU'.padStart(8)}`);
  const number = (value, width) => (Number.isNaN(value) ? '' : value.toFixed(1)).padStart(width);
  for (const [name, row] of Object.entries(table)) {
    console.log(name.padEnd(28) + number(row.wall, 12) +
      `${row.smallest.toFixed(0)} .. ${row.largest.toFixed(0)}`.padStart(14) + number(row.cpu, 8) +
      number(row.againWall, 16) + number(row.againCpu, 8));
  }
}
process.exit(0);
