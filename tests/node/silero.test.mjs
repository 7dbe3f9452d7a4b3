import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEngine } from '../../build/web/tandem/index.js';
import { checkClips, machinesOf } from '../web/checks.mjs';
import { clip, golden, loadExpectations, models, weightsPath } from '../web/files.mjs';

const expectations = loadExpectations();
const engine = await createEngine();

for (const [version, sampleRate] of models) {
  for (const isa of machinesOf(engine)) {
    for (const numerics of ['fast', 'reproducible']) {
      test(`Silero ${version} at ${sampleRate} Hz agrees with the goldens: ${isa}, ${numerics}`, async (t) => {
        const { problems, worst } = await checkClips(engine, expectations, golden(version, sampleRate), {
          weights: weightsPath(version),
          numerics,
          isa,
          samplesOf: clip,
        });
        t.diagnostic(`largest difference of a probability: ${worst.toExponential(1)}`);
        assert.deepEqual(problems, []);
      });
    }
  }
}

test('matrices kept as f16 and bf16 are within the stated errors, in a stream and in recordings', async () => {
  const { clips } = golden('v6', 16000);
  const { id, probs } = clips.find((one) => one.id === 'p16-goforward');
  const samples = clip(id);
  const found = {};
  for (const [weightsDtype, bound] of [['f32', 2e-5], ['f16', 1e-2], ['bf16', 3e-2]]) {
    const options = { weights: weightsPath('v6'), version: 'v6', weightsDtype };
    const vad = await engine.loadSileroVad(options);
    const offline = await engine.loadSileroOffline(options);
    found[weightsDtype] = [...vad.process(samples), ...vad.flush()];
    for (const probabilities of [found[weightsDtype], offline.probabilities(samples)]) {
      const worst = Math.max(...probs.map((wanted, i) => Math.abs(probabilities[i] - wanted)));
      assert.ok(worst <= bound, `${weightsDtype}: ${worst}`);
    }
    vad.destroy();
    offline.destroy();
  }
  for (const other of ['f16', 'bf16']) assert.notDeepEqual(found[other], found.f32);
});
