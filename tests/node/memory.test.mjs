import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createEngine } from '../../build/web/tandem/index.js';
import { weightsPath } from '../web/files.mjs';
import { checkLargeMemory } from '../web/memory.mjs';

test('plans above 2 GiB, and memory that can not be had', async () => {
  assert.deepEqual(await checkLargeMemory(createEngine, new Uint8Array(readFileSync(weightsPath('v5')))), []);
});
