// GigaAM in the JavaScript package against the float64 references of tests/golden/gigaam, wherever it runs. The checks
// return sentences about what is wrong. `read(name)` gives the bytes of a file of tests/golden.
import { machinesOf } from './checks.mjs';
import { readSafetensors, weightsOf, writeSafetensors } from './safetensors.mjs';

/** The characters of the published models: a space and the Russian letters. */
export const LABELS = [' ', ...Array.from({ length: 32 }, (_, i) => String.fromCharCode(0x430 + i))];
/** What the small model makes of its clip. */
const SAID = 'яллйлылйлзя';
const FRAME = 0.04;

/** Largest error of encoded frames and of log-probabilities: core/models/README.md. */
export const BOUNDS = { f32: [2e-5, 5e-5], f16: [4e-3, 1e-2], bf16: [2.5e-2, 5e-2], i8: [6e-2, 0.25] };
/** The same with activations of bf16. */
const BF16_ACTIVATIONS = { f32: [2.5e-2, 8e-2], f16: [2.5e-2, 8e-2], bf16: [3e-2, 0.1], i8: [8e-2, 0.27] };

export async function loadGolden(read, name) {
  const bytes = await read(`gigaam/${name}.safetensors`);
  const { tensors } = readSafetensors(bytes);
  const values = (tensor) => tensors[tensor].data;
  return { name, bytes, tensors, values, lanes: tensors['input.mel_lengths']?.shape[0] ?? 1 };
}

/** The samples of a clip from -1 to 1. */
export function clipOf(golden) {
  return Float32Array.from(golden.values('input.pcm'), (sample) => sample / 32768);
}

/** Largest difference over the rows below each lane's length; infinite where a value is NaN or the sizes differ. */
function rowDifference(found, expected, lengths, frames) {
  if (found.length !== expected.length) return Infinity;
  const width = found.length / (lengths.length * frames);
  let largest = 0;
  for (let i = 0; i < found.length; i++) {
    const row = Math.floor(i / width);
    if (row % frames >= lengths[Math.floor(row / frames)]) continue;
    const difference = Math.abs(found[i] - expected[i]);
    largest = difference <= largest ? largest : Number.isNaN(difference) ? Infinity : Math.max(largest, difference);
  }
  return largest;
}

function makeNotes() {
  const problems = [];
  return {
    problems,
    same(what, found, expected) {
      const [a, b] = [found, expected].map((value) => JSON.stringify(ArrayBuffer.isView(value) ? Array.from(value) : value));
      if (a !== b) problems.push(`${what}: ${a}, not ${b}`);
    },
    within(what, found, bound) {
      if (!(found <= bound)) problems.push(`${what}: ${found} is above ${bound}`);
    },
  };
}

/** Lane by lane, without the padding. */
function expectedSequences(golden) {
  const [tokens, frames] = ['tokens', 'frames'].map((name) => golden.tensors[`expected.${name}`]);
  const width = tokens.shape[1];
  return Array.from(golden.values('expected.token_counts'), (count, lane) => ({
    tokens: Array.from(tokens.data.subarray(lane * width, lane * width + count)),
    frames: Array.from(frames.data.subarray(lane * width, lane * width + count)),
  }));
}

function compareBatch(golden, batch, notes, what, [encodedBound, scoresBound]) {
  const { same, within } = notes;
  const lengths = golden.values('expected.encoded_lengths');
  same(`${what}, lengths`, batch.encodedLengths, lengths);
  within(`${what}, encoded`, rowDifference(batch.encoded, golden.values('expected.encoded'), lengths, batch.frames), encodedBound);
  if (!golden.tensors['expected.log_probs']) return;
  within(`${what}, log-probabilities`,
    rowDifference(batch.scores, golden.values('expected.log_probs'), lengths, batch.frames), scoresBound);
}

function compareSequences(golden, batch, notes, what) {
  const found = batch.sequences.map(({ tokens, frames }) => ({ tokens: Array.from(tokens), frames: Array.from(frames) }));
  notes.same(`${what}, tokens and frames`, found, expectedSequences(golden));
}

function compareMel(golden, mel, notes, what) {
  const { shape, data } = golden.tensors['expected.log_mel'];
  notes.same(`${what}, shape`, [mel.features, mel.frames], shape);
  notes.within(what, rowDifference(mel.data, data, [shape[0]], shape[0]), 1e-5);
}

/** The first frames of the first lane alone. */
async function compareShort(golden, short, recognizer, notes, what) {
  const { shape: [, features, frames], data } = golden.tensors['input.mel'];
  for (const expected of short[golden.name]) {
    const t = expected.mel_frames;
    const mel = new Float32Array(features * t);
    for (let row = 0; row < features; row++) mel.set(data.subarray(row * frames, row * frames + t), row * t);
    const batch = await recognizer.recognizeMel(mel, Int32Array.of(t));
    const name = `${what}, ${t} frames`;
    notes.same(`${name}, length`, batch.encodedLengths[0], expected.encoded_length);
    notes.within(name, rowDifference(batch.scores, expected.log_probs, batch.encodedLengths, batch.frames), 5e-5);
    notes.same(`${name}, tokens`, Array.from(batch.sequences[0].tokens), expected.tokens);
    notes.same(`${name}, token frames`, Array.from(batch.sequences[0].frames), expected.frames);
  }
}

/** A clip to text, and the same in two steps. */
async function compareClip(golden, recognizer, notes, what) {
  const clip = clipOf(golden);
  const [{ tokens, frames }] = expectedSequences(golden);
  const said = await recognizer.transcribe(clip);
  const { same, within } = notes;
  same(`${what}, text`, said.text, SAID);
  same(`${what}, ids`, said.tokens.map(({ id }) => id), tokens);
  same(`${what}, texts`, said.tokens.map(({ text }) => text), tokens.map((id) => LABELS[id]));
  same(`${what}, one word`, said.words.map(({ text }) => text), [SAID]);
  const end = clip.length / 16000;
  said.tokens.forEach(({ start, end: stop }, i) => {
    within(`${what}, start of token ${i}`, Math.abs(start - frames[i] * FRAME), 1e-9);
    within(`${what}, end of token ${i}`, Math.abs(stop - Math.min((frames[i] + 1) * FRAME, end)), 1e-9);
  });
  within(`${what}, start of the word`, Math.abs(said.words[0]?.start - frames[0] * FRAME), 1e-9);
  within(`${what}, end of the word`, Math.abs(said.words[0]?.end - end), 1e-9);
  const mel = await recognizer.logMel(clip);
  compareMel(golden, mel, notes, `${what}, log-mel`);
  const batch = await recognizer.recognizeMel(mel.data, Int32Array.of(mel.frames));
  compareBatch(golden, batch, notes, what, BOUNDS.f32);
  compareSequences(golden, batch, notes, what);
  for (const samples of [0, 1, 319]) {
    same(`${what}, ${samples} samples`, await recognizer.transcribe(clip.subarray(0, samples)), { text: '', tokens: [], words: [] });
  }
}

/**
 * Every golden file: log-mel of both front ends, encoder and scores of both layouts, tokens and frames of both heads, a clip
 * from samples to text. Works on an Engine and on a WorkerEngine.
 */
export async function checkGoldens(engine, read) {
  const notes = makeNotes();
  const short = JSON.parse(new TextDecoder().decode(await read('gigaam/short_mel.json')));
  const [speech, ...models] = await Promise.all(
    ['e2e_tiny', 'ctc_tiny', 'ctc_tiny_v2', 'rnnt_tiny'].map((name) => loadGolden(read, name)));
  const mels = {
    ctc_tiny: await loadGolden(read, 'mel_v3_goforward'), ctc_tiny_v2: await loadGolden(read, 'mel_v2_cards001'),
  };
  for (const isa of machinesOf(engine)) {
    for (const numerics of ['fast', 'reproducible']) {
      const options = { vocabulary: LABELS, maxSeconds: 2, isa, numerics };
      for (const golden of models) {
        const what = `${golden.name}, ${isa}, ${numerics}`;
        const recognizer = await engine.loadGigaAM({ ...options, weights: golden.bytes, lanes: golden.lanes });
        const batch = await recognizer.recognizeMel(golden.values('input.mel'), golden.values('input.mel_lengths'));
        compareBatch(golden, batch, notes, what, BOUNDS.f32);
        compareSequences(golden, batch, notes, what);
        const mel = mels[golden.name];
        if (mel) compareMel(mel, await recognizer.logMel(clipOf(mel)), notes, `${mel.name}, ${isa}, ${numerics}`);
        if (short[golden.name]) await compareShort(golden, short, recognizer, notes, what);
        await recognizer.destroy();
      }
      const recognizer = await engine.loadGigaAM({ ...options, weights: speech.bytes });
      await compareClip(speech, recognizer, notes, `e2e_tiny, ${isa}, ${numerics}`);
      await recognizer.destroy();
    }
  }
  return notes.problems;
}

/** Matrices and activations that are kept as less than f32: within the stated errors, and not the same numbers. */
export async function checkTypes(engine, read) {
  const notes = makeNotes();
  const choices = ['f32', 'f16', 'bf16', 'i8'].flatMap((weightsDtype) =>
    [undefined, 'bf16'].map((activations) => ({ weightsDtype, activations })));
  for (const name of ['ctc_tiny', 'rnnt_tiny']) {
    const golden = await loadGolden(read, name);
    for (const { weightsDtype, activations } of choices) {
      const recognizer = await engine.loadGigaAM({
        weights: golden.bytes, vocabulary: LABELS, maxSeconds: 1, lanes: golden.lanes, weightsDtype, activations,
      });
      const choice = `${name} as ${weightsDtype}${activations ? ' with bf16 activations' : ''}`;
      const batch = await recognizer.recognizeMel(golden.values('input.mel'), golden.values('input.mel_lengths'));
      compareBatch(golden, batch, notes, choice, (activations ? BF16_ACTIVATIONS : BOUNDS)[weightsDtype]);
      const difference = rowDifference(
        batch.encoded, golden.values('expected.encoded'), golden.values('expected.encoded_lengths'), batch.frames);
      if ((weightsDtype !== 'f32' || activations) && !(difference > 2e-5)) notes.problems.push(`${choice} is f32`);
      await recognizer.destroy();
    }
  }
  return notes.problems;
}

/** The bits of the f16 that is nearest, ties to even; for numbers of ordinary size. */
function halfBits(value) {
  const magnitude = Math.abs(value);
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const exponent = Math.max(Math.floor(Math.log2(magnitude)), -14);
  const scaled = magnitude === 0 ? 0 : magnitude * 2 ** (10 - exponent);
  const low = Math.floor(scaled);
  const rest = scaled - low;
  const whole = rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
  return sign + (magnitude === 0 ? 0 : (exponent + 14) * 1024 + whole);
}

function numberOfHalf(bits) {
  const exponent = (bits >> 10) & 31;
  const size = exponent ? (1024 + (bits & 1023)) * 2 ** (exponent - 25) : (bits & 1023) * 2 ** -24;
  return bits & 0x8000 ? -size : size;
}

/** A file of f16 is what its numbers are in a file of f32 whose matrices are kept as f16. */
export async function checkHalfFiles(engine, read) {
  const { problems, same, within } = makeNotes();
  const golden = await loadGolden(read, 'ctc_tiny');
  const { metadata, tensors } = readSafetensors(golden.bytes);
  const halves = {};
  const rounded = {};
  for (const [name, { shape, data }] of Object.entries(weightsOf({ tensors }))) {
    const bits = Uint16Array.from(data, halfBits);
    halves[name] = { dtype: 'F16', shape, data: bits };
    rounded[name] = { dtype: 'F32', shape, data: Float32Array.from(bits, numberOfHalf) };
    const errors = data.map((value, i) => Math.abs(value - rounded[name].data[i]) / (Math.abs(value) + 1e-4));
    within(`${name} as f16`, Math.max(...errors), 2 ** -11);
  }
  const results = [];
  for (const [weights, weightsDtype] of [[halves, undefined], [rounded, 'f16']]) {
    const recognizer = await engine.loadGigaAM({
      weights: writeSafetensors(weights, metadata), weightsDtype, vocabulary: LABELS, maxSeconds: 1, lanes: golden.lanes,
    });
    results.push(await recognizer.recognizeMel(golden.values('input.mel'), golden.values('input.mel_lengths')));
    await recognizer.destroy();
  }
  same('scores', results[0].scores, results[1].scores);
  const lengths = golden.values('expected.encoded_lengths');
  const difference = rowDifference(results[0].encoded, golden.values('expected.encoded'), lengths, results[0].frames);
  within('encoded of a file of f16', difference, 2 * BOUNDS.f16[0]);
  if (!(difference > 2e-5)) problems.push('a file of f16 gives what f32 gives');
  return problems;
}

/** A clip does not change what is said in the next one, and a beam finds what the scores say. */
export async function checkClips(engine, read) {
  const { problems, same } = makeNotes();
  const golden = await loadGolden(read, 'e2e_tiny');
  const clip = clipOf(golden);
  const loud = clip.map((sample, i) => 0.9 * Math.sin(i * 0.37) * (1 + sample));
  const rnnt = await loadGolden(read, 'rnnt_tiny');
  for (const weights of [golden.bytes, rnnt.bytes]) {
    const one = await engine.loadGigaAM({ weights, vocabulary: LABELS, maxSeconds: 2 });
    const more = await engine.loadGigaAM({ weights, vocabulary: LABELS, maxSeconds: 2, lanes: 3 });
    const first = await one.transcribe(clip);
    if (first.tokens.length === 0) problems.push(`${one.head}: nothing was said`);
    await one.transcribe(loud.subarray(0, 30000));
    await one.transcribe(clip.subarray(0, 5000));
    same(`${one.head}, the clip again`, await one.transcribe(clip), first);
    const mel = await one.logMel(clip);
    const batch = await more.recognizeMel(mel.data, Int32Array.of(mel.frames));
    same(`${one.head}, in a plan of three lanes`, Array.from(batch.sequences[0].tokens), first.tokens.map(({ id }) => id));
    same(`${one.head}, frames`, Array.from(batch.sequences[0].frames, (frame) => Math.round(frame * 40)),
      first.tokens.map(({ start }) => Math.round(start * 1000)));
    same('facts', [one.sampleRate, one.maxSamples, one.samplesPerFrame, one.features, one.classes, more.lanes],
      [16000, 32000, 640, 64, 34, 3]);
    await one.destroy();
    await more.destroy();
  }
  // A vocabulary with spaces: words are what stands between them.
  const spaced = LABELS.map((text, id) => (id === 10 ? ' ' : text));
  const words = await engine.loadGigaAM({ weights: golden.bytes, vocabulary: spaced, maxSeconds: 2 });
  const said = await words.transcribe(clip);
  same('words', said.words.map(({ text }) => text), ['ялл', 'лыл', 'лзя']);
  same('text of words', said.text, 'ялл лыл лзя');
  same('times of words', said.words.map(({ start, end }) => [start, end].map((time) => Math.round(time * 1000))),
    [[120, 280], [400, 720], [920, 1302]]);
  await words.destroy();
  const beam = await engine.loadGigaAM({ weights: golden.bytes, vocabulary: LABELS, maxSeconds: 2, beamWidth: 16 });
  const found = (await beam.transcribe(clip)).tokens.map(({ id }) => id);
  const greedy = expectedSequences(golden)[0].tokens;
  const scores = golden.values('expected.log_probs');
  const better = logProbability(scores, 34, found) >= logProbability(scores, 34, greedy) - 1e-3;
  if (!better) problems.push(`the beam found ${found}, which is less probable than ${greedy}`);
  await beam.destroy();
  return problems;
}

/** Logarithm of the sum over all paths of a sequence: the forward algorithm of CTC. */
function logProbability(scores, classes, tokens) {
  const blank = classes - 1;
  const states = [blank, ...tokens.flatMap((token) => [token, blank])];
  const add = (a, b) => (a === -Infinity && b === -Infinity ? -Infinity : Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b))));
  let alpha = states.map((state, i) => (i < 2 ? scores[state] : -Infinity));
  for (let frame = 1; frame * classes < scores.length; frame++) {
    alpha = states.map((state, i) => {
      let sum = add(alpha[i], i > 0 ? alpha[i - 1] : -Infinity);
      if (i > 1 && state !== blank && state !== states[i - 2]) sum = add(sum, alpha[i - 2]);
      return sum + scores[frame * classes + state];
    });
  }
  return add(alpha.at(-1), alpha.at(-2) ?? -Infinity);
}
