import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEngine } from '../../build/web/tandem/index.js';
import { checkTuning } from '../web/tuning.mjs';

test('tuned plans: kept tiles, damaged and broken stores, the bits of plans that are not tuned', async () => {
  assert.deepEqual(await checkTuning(createEngine), []);
});
