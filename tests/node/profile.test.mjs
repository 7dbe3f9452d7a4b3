import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createEngine } from '../../build/web/tandem/index.js';
import { readGolden, weightsPath } from '../web/files.mjs';
import { checkProfiles, checkSpeechProfiles } from '../web/profile.mjs';

test('profiles: rows, operations, marks on the timeline, an untouched stream', async () => {
  assert.deepEqual(await checkProfiles(createEngine, new Uint8Array(readFileSync(weightsPath('v5')))), []);
});

test('profiles of a clip: rows, operations that follow its length, an untouched recogniser', async () => {
  const engine = await createEngine();
  assert.deepEqual(await checkSpeechProfiles(engine, readGolden), []);
  engine.destroy();
});
