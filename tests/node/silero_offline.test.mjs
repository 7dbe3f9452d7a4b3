import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEngine } from '../../build/web/tandem/index.js';
import { machinesOf } from '../web/checks.mjs';
import { clip, golden, models, weightsPath } from '../web/files.mjs';

const engine = await createEngine();

for (const [version, sampleRate] of models) {
  for (const isa of machinesOf(engine)) {
    for (const numerics of ['fast', 'reproducible']) {
      test(`whole recordings, Silero ${version} at ${sampleRate} Hz: ${isa}, ${numerics}`, async () => {
        const detector = await engine.loadSileroOffline({
          weights: weightsPath(version), version, sampleRate, isa, numerics,
        });
        assert.equal(detector.windowSamples, sampleRate === 16000 ? 512 : 256);
        for (const { id, probs } of golden(version, sampleRate).clips) {
          const found = detector.probabilities(clip(id));
          assert.equal(found.length, probs.length, id);
          for (let i = 0; i < probs.length; i++) {
            const difference = Math.abs(found[i] - probs[i]);
            assert.ok(difference <= 2e-5, `${id}, window ${i}: ${found[i]}, expected ${probs[i]}`);
          }
        }
        detector.destroy();
      });
    }
  }
}

test('a whole recording is refused as a stream is, and nothing changes', async () => {
  const detector = await engine.loadSileroOffline({ weights: weightsPath('v6'), version: 'v6' });
  const samples = clip('p16-goforward');
  const before = detector.probabilities(samples);
  const bad = Float32Array.from(samples);
  bad[700] = NaN;
  assert.throws(() => detector.probabilities(bad), { code: 'NonFinite', index: 700 });
  bad[700] = 3e38;
  assert.throws(() => detector.probabilities(bad), { code: 'NonFinite', message: /window 1 / });
  assert.throws(() => detector.probabilities([0, 0]), { code: 'InvalidArgument' });
  assert.deepEqual(detector.probabilities(new Float32Array(0)), new Float32Array(0));
  assert.deepEqual(detector.probabilities(samples), before);
  detector.destroy();
  assert.throws(() => detector.probabilities(samples), { code: 'Destroyed' });
  await assert.rejects(engine.loadSileroOffline({}), { code: 'InvalidArgument' });
});
