// Compares one Silero step with onnxruntime-web, in this Node.js and in Chromium: node tests/bench/web/bench.mjs
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ort from 'onnxruntime-web';
import { startServer } from '../../../demo/web/server.mjs';
import { launch } from '../../browser/support.mjs';
import { needPackage, packageFolder, root, weightsPath } from '../../web/files.mjs';
import { measure } from './measure.mjs';
import { openMeasuringPage } from './thread_clock.mjs';

function report(place, { isa, microseconds, prepareMs, largestDifference }) {
  const peer = microseconds['onnxruntime-web'];
  console.log(`${place} (${isa}); probabilities differ by at most ${largestDifference.toExponential(1)}`);
  for (const [name, time] of Object.entries(microseconds)) {
    console.log(`  ${name.padEnd(16)} ${time.toFixed(1).padStart(8)} µs a step, prepared in ` +
      `${prepareMs[name].toFixed(0).padStart(5)} ms` +
      (name === 'onnxruntime-web' ? '' : `, ${(peer / time).toFixed(2)} times as fast as onnxruntime-web`));
  }
  console.log(`  reproducible takes ${(microseconds.reproducible / microseconds.fast).toFixed(2)} of the time of fast`);
}

needPackage();
const { createEngine } = await import('../../../build/web/tandem/index.js');
const options = process.argv.includes('--short') ? { repetitions: 5, steps: 200 } : { steps: 500 };

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
report(`Node.js ${process.version}`, await measure({
  createEngine, ort, weights: new Uint8Array(readFileSync(weightsPath('v5'))), ...options,
}));

const server = await startServer({
  '/': join(root, 'tests/bench/web/page'),
  '/bench/': join(root, 'tests/bench/web'),
  '/tandem/': packageFolder,
  '/ort/': join(root, 'node_modules/onnxruntime-web/dist'),
  '/weights/': join(root, 'node_modules/@ricky0123/vad-web/dist'),
});
const { context, close } = await launch();
try {
  const page = await openMeasuringPage(context, server.url);
  report(`Chromium ${context.browser()?.version() ?? ''}`, await page.evaluate((o) => window.measure(o), options));
} finally {
  await close();
  await server.close();
}
process.exit(0);
