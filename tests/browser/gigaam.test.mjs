import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useTestPage } from './support.mjs';

const { run, errors } = useTestPage();

for (const place of ['page', 'worker']) {
  for (const [check, what] of Object.entries({
    goldens: 'every golden file: log-mel, encoder, scores, tokens, frames, text',
    types: 'matrices kept as f16, bf16 and i8, and activations of bf16, are within the stated errors',
    halves: 'a file of f16 is what its numbers are',
    clips: 'clips do not touch each other; words; beams',
    loading: 'weights in one file and several, configuration and vocabulary beside them, progress',
    refusals: 'what does not fit is refused by name',
    profiles: 'profiles of a clip: rows, operations that follow its length',
  })) {
    test(`GigaAM, ${place}: ${what}`, async () => {
      assert.deepEqual(await run('gigaam', place, check), []);
    });
  }
}

test('recognisers come and go and leave nothing behind', async () => {
  assert.deepEqual(await run('gigaamLifetimes'), []);
});

test('the page reported no errors of its own', () => {
  // Files that are looked for and not there.
  assert.deepEqual(errors().filter((text) => !text.includes('404')), []);
});
