import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createEngine } from '../../build/web/tandem/index.js';
import { weightsPath } from '../web/files.mjs';
import { checkProfiles } from '../web/profile.mjs';

test('profiles: rows, operations, marks on the timeline, an untouched stream', async () => {
  assert.deepEqual(await checkProfiles(createEngine, new Uint8Array(readFileSync(weightsPath('v5')))), []);
});
