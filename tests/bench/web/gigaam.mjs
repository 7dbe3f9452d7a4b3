// Compares GigaAM in Chromium with onnxruntime-web, one thread: node tests/bench/web/gigaam.mjs
//   [--layers N] [--frames T] [--rounds N] [--json]
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../../../demo/web/server.mjs';
import { launch } from '../../browser/support.mjs';
import { needPackage, packageFolder, root } from '../../web/files.mjs';
import { openMeasuringPage } from './thread_clock.mjs';

const LARGEST_DIFFERENCE = 1e-4;

function option(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}

function print({ isa, layers, frames, times, difference, prepareMs }) {
  const [ours, peer] = [times.tandem.median, times['onnxruntime-web'].median];
  console.log(`GigaAM, ${layers} layers, ${frames} frames, milliseconds of the page's thread (${isa}); scores differ by ${difference.toExponential(1)}`);
  for (const [name, { median, fastest }] of Object.entries(times)) {
    console.log(`  ${name.padEnd(16)} ${median.toFixed(0).padStart(6)} ms, fastest ${fastest.toFixed(0).padStart(6)}, made in ` +
      `${prepareMs[name].toFixed(0).padStart(6)} ms`);
  }
  console.log(`  onnxruntime-web takes ${(peer / ours).toFixed(2)} of our time`);
}

needPackage();
const writer = join(root, 'build/native/gigaam_bench');
if (!existsSync(writer)) {
  console.error('build the model\'s writer first: cmake --preset native && cmake --build build/native --target gigaam_bench');
  process.exit(2);
}
const options = { layers: option('layers', 4), frames: option('frames', 569), rounds: option('rounds', 7) };
const folder = mkdtempSync(join(tmpdir(), 'tandem-gigaam-'));
try {
  execFileSync(writer, ['--write', folder, String(options.layers)], { stdio: ['ignore', 2, 2] });
  const server = await startServer({
    '/': join(root, 'tests/bench/web/page'),
    '/model/': folder,
    '/tandem/': packageFolder,
    '/ort/': join(root, 'node_modules/onnxruntime-web/dist'),
  });
  const { context, close } = await launch();
  try {
    const page = await openMeasuringPage(context, `${server.url}gigaam.html`);
    const measured = await page.evaluate((o) => window.measure(o), options);
    if (process.argv.includes('--json')) console.log(JSON.stringify(measured, null, 1));
    else print(measured);
    process.exitCode = measured.difference < LARGEST_DIFFERENCE ? 0 : 1;
  } finally {
    await close();
    await server.close();
  }
} finally {
  rmSync(folder, { recursive: true });
}
process.exit();
