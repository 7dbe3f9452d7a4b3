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
