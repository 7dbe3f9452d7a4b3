import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createEngine } from '../../build/web/tandem/index.js';
import { eventsOf } from '../web/checks.mjs';

const vectors = JSON.parse(readFileSync(new URL('../golden/silero/vectors.json', import.meta.url), 'utf8'));
const NAMES = {
  threshold: 'threshold',
  neg_threshold: 'negThreshold',
  min_speech_duration_ms: 'minSpeechDurationMs',
  max_speech_duration_s: 'maxSpeechDurationS',
  min_silence_duration_ms: 'minSilenceDurationMs',
  speech_pad_ms: 'speechPadMs',
  min_silence_at_max_speech: 'minSilenceAtMaxSpeechMs',
  use_max_poss_sil_at_max_speech: 'useLongestSilenceAtMaxSpeech',
  return_seconds: 'returnSeconds',
  time_resolution: 'timeResolution',
};

test('segments and events of the model-free vectors', async () => {
  const engine = await createEngine();
  const problems = [];
  for (const row of vectors.segments) {
    const probabilities = row.probs.map((value) => value ?? NaN);
    const options = { sampleRate: row.sample_rate };
    for (const [name, value] of Object.entries(row.params)) {
      assert.ok(NAMES[name], `unknown parameter ${name}`);
      options[NAMES[name]] = value === 'inf' ? Infinity : value;
    }
    let found = null;
    try {
      found = engine.speechTimestamps(probabilities, { ...options, samples: row.samples });
    } catch (error) {
      assert.equal(error.code, 'InvalidArgument');
    }
    const pairs = found && found.map(({ start, end }) => [start, end]);
    if (JSON.stringify(pairs) !== JSON.stringify(row.timestamps)) {
      problems.push(`${row.name}: ${JSON.stringify(pairs)}, not ${JSON.stringify(row.timestamps)}`);
    }
    if (!row.vad_iterator) continue;
    const { threshold, minSilenceDurationMs, speechPadMs, sampleRate } = options;
    const events = eventsOf(engine, probabilities, { threshold, minSilenceDurationMs, speechPadMs, sampleRate });
    if (JSON.stringify(events) !== JSON.stringify(row.vad_iterator)) {
      problems.push(`${row.name}, iterator: ${JSON.stringify(events)}, not ${JSON.stringify(row.vad_iterator)}`);
    }
  }
  assert.deepEqual(problems, []);
  assert.ok(vectors.segments.length >= 40);
  engine.destroy();
});
