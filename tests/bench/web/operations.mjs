// Times single operations in Chromium, this engine and its peers side by side: node tests/bench/web/operations.mjs
//   [--filter TEXT] [--rounds N] [--runtimes tandem,onnxruntime,litert,tfjs,jax] [--json]
// The peers' packages, which nothing else needs, are installed into tests/bench/web/operations by the first run.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import binaryen from 'binaryen';
import { startServer } from '../../../demo/web/server.mjs';
import { launch } from '../../browser/support.mjs';
import { needPackage, packageFolder, root } from '../../web/files.mjs';
import { openMeasuringPage } from './thread_clock.mjs';

const folder = join(root, 'tests/bench/web/operations');
const ACCUMULATORS = 12;

function option(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : process.argv[at + 1];
}

/** A loop of multiplications and additions, as many at a time as hide their latency. */
function peakLoop(name, step) {
  const lanes = Array.from({ length: ACCUMULATORS }, (_, i) => i);
  const module = binaryen.parseText(`(module (func (export "peak") (param $n i32) (result f32)
    (local $x v128) ${lanes.map((i) => `(local $a${i} v128)`).join(' ')}
    (local.set $x (f32x4.splat (f32.const 0.5)))
    (loop $again
      ${lanes.map((i) => `(local.set $a${i} ${step(`(local.get $a${i})`)})`).join('\n')}
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (f32x4.extract_lane 0 ${lanes.slice(1).reduce((sum, i) => `(f32x4.add ${sum} (local.get $a${i}))`, '(local.get $a0)')})))`);
  const bytes = [...module.emitBinary()];
  module.dispose();
  return { name, bytes, flops: 8 * ACCUMULATORS };
}

function print({ results, peak, peakOf }) {
  console.log(`microseconds of the page's thread a call: median, fastest; peak of ${peakOf}: ${peak.toFixed(1)} GFLOP/s`);
  for (const { name, flops, runtimes, failures } of results) {
    console.log(name);
    const ours = runtimes.find((runtime) => runtime.name.startsWith('tandem'))?.microseconds;
    for (const runtime of runtimes) {
      const rate = flops / runtime.microseconds / 1000;
      console.log(`  ${runtime.name.padEnd(28)} ${runtime.microseconds.toFixed(1).padStart(10)} ` +
        `${runtime.fastest.toFixed(1).padStart(10)}` +
        (flops ? ` ${rate.toFixed(1).padStart(6)} GFLOP/s, ${(100 * rate / peak).toFixed(0).padStart(3)} % of the peak` : '') +
        `  first ${runtime.firstMs.toFixed(1)} ms  error ${runtime.error.toExponential(1)}` +
        (ours && runtime.microseconds !== ours ? `  ${(runtime.microseconds / ours).toFixed(2)} x our time` : ''));
    }
    for (const [runtime, failure] of Object.entries(failures)) console.log(`  ${runtime}: ${failure}`);
  }
}

needPackage();
if (!existsSync(join(folder, 'node_modules'))) execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: folder, stdio: ['ignore', 2, 2] });
const server = await startServer({
  '/': folder,
  '/tandem/': packageFolder,
  '/ort/': join(root, 'node_modules/onnxruntime-web/dist'),
  '/packages/': join(folder, 'node_modules'),
}, 0, { policy: '' }); // Peers need more than this engine: inline scripts and eval.
const { context, close } = await launch();
try {
  const page = await openMeasuringPage(context, server.url, 3600000);
  const measured = await page.evaluate((o) => window.measure(o), {
    runtimes: option('runtimes', 'tandem,onnxruntime,litert,tfjs,jax').split(','),
    filter: option('filter', ''),
    rounds: Number(option('rounds', '21')),
    peaks: [
      peakLoop('f32x4.relaxed_madd', (a) => `(f32x4.relaxed_madd (local.get $x) ${a} (local.get $x))`),
      peakLoop('f32x4.mul and add', (a) => `(f32x4.add (f32x4.mul (local.get $x) ${a}) (local.get $x))`),
    ],
  });
  if (process.argv.includes('--json')) console.log(JSON.stringify(measured, null, 1));
  else print(measured);
  const wrong = measured.results.flatMap(({ runtimes }) => runtimes).filter(({ error }) => !(error < 1e-4));
  process.exitCode = wrong.length > 0 ? 1 : 0;
} finally {
  await close();
  await server.close();
}
process.exit();
