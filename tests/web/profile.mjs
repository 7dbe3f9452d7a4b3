// Profiles of kernels: what they must say, in Node.js and on a page.
import { LABELS, clipOf, loadGolden } from './gigaam.mjs';

const MATMUL = `%0 = input f32[64, 32] number=0 "x"
%1 = input f32[16, 32] number=1 "w"
%2 = reshape f32[64, 1, 32] %0
%3 = expand f32[64, 16, 32] %2
%4 = reshape f32[1, 16, 32] %1
%5 = expand f32[64, 16, 32] %4
%6 = contract f32[64, 16] %3, %5 count=1
outputs %6 "y"
`;

function codeOf(action) {
  try {
    action();
    return 'no error';
  } catch (error) {
    return error.name === 'TandemError' ? error.code : `${error.name}: ${error.message}`;
  }
}

/** What holds for every profile; `problems` gets sentences. */
function checkRows(what, rows, repetitions, elapsedMs, problems) {
  const add = (sentence) => problems.push(`${what}: ${sentence}`);
  const sum = (name) => rows.reduce((all, row) => all + row[name], 0);
  if (rows.length === 0) return add('no kernels');
  for (const row of rows) {
    const keys = Object.keys(row).join();
    if (keys !== 'kernel,origin,flops,bytes,seconds,share') add(`a row has ${keys}`);
    if (!/^k\d+_/.test(row.kernel)) add(`a kernel is called ${row.kernel}`);
    if (!(row.seconds >= 0 && row.bytes > 0 && row.flops >= 0)) add(`odd numbers: ${JSON.stringify(row)}`);
    const share = row.seconds / sum('seconds');
    if (!(Math.abs(row.share - share) < 1e-9)) add(`the share of ${row.kernel} is ${row.share}, not ${share}`);
  }
  if (!(Math.abs(sum('share') - 1) < 1e-9)) add(`the shares add up to ${sum('share')}`);
  // The clock ticks in steps of up to 0.1 ms.
  if (!(sum('seconds') * 1000 * repetitions <= elapsedMs + 0.2)) {
    add(`${repetitions} runs of ${sum('seconds')} s took ${elapsedMs} ms`);
  }
}

function checkMarks(rows, entries, problems) {
  if (entries.length !== rows.length) {
    problems.push(`${entries.length} entries on the timeline for ${rows.length} kernels`);
    return;
  }
  entries.forEach((entry, i) => {
    const row = rows[i];
    if (entry.name !== `tandem: ${row.kernel}`) problems.push(`entry ${i} is called ${entry.name}`);
    if (Math.abs(entry.duration - row.seconds * 1000) > 1e-3) problems.push(`entry ${i} lasts ${entry.duration} ms`);
    if (i > 0 && entry.startTime < entries[i - 1].startTime) problems.push(`entry ${i} begins before the one before`);
    if (entry.detail.devtools.trackGroup !== 'tandem') problems.push(`entry ${i} is on no track of its own`);
    if (entry.detail.flops !== row.flops) problems.push(`entry ${i} has ${entry.detail.flops} flops`);
  });
}

/** The same for a small GigaAM; `read` gives the bytes of a golden file. */
export async function checkSpeechProfiles(engine, read) {
  const problems = [];
  const golden = await loadGolden(read, 'e2e_tiny');
  const recognizer = await engine.loadGigaAM({ weights: golden.bytes, vocabulary: LABELS, maxSeconds: 2 });
  const clip = clipOf(golden);
  const { text } = await recognizer.transcribe(clip);
  const flops = (rows) => rows.reduce((sum, row) => sum + row.flops, 0);
  let began = performance.now();
  const rows = await recognizer.executeProfiled(clip, { repetitions: 3, marks: false });
  checkRows('GigaAM', rows, 3, performance.now() - began, problems);
  began = performance.now();
  const half = await recognizer.executeProfiled(clip.subarray(0, clip.length >> 1));
  checkRows('half a clip', half, 1, performance.now() - began, problems);
  const ratio = flops(half) / flops(rows);
  if (!(ratio > 0.4 && ratio < 0.6)) problems.push(`half a clip has ${ratio} of the operations`);
  if ((await recognizer.transcribe(clip)).text !== text) problems.push('a profile changed what is heard');
  for (const [code, action] of [
    ['InvalidArgument', () => recognizer.executeProfiled(clip.subarray(0, 10))],
    ['InvalidArgument', () => recognizer.executeProfiled(clip, { repetitions: 0 })],
    ['InvalidArgument', () => recognizer.executeProfiled([1, 2])],
    ['NonFinite', () => recognizer.executeProfiled(clip.map((value, i) => (i === 5 ? NaN : value)))],
  ]) {
    const found = await Promise.resolve().then(action).then(() => 'no error', (error) => error.code);
    if (found !== code) problems.push(`a wrong profile of a clip: ${found}, not ${code}`);
  }
  await recognizer.destroy();
  return problems;
}

/** Sentences about what is wrong; empty when all is well. */
export async function checkProfiles(createEngine, weights) {
  const problems = [];
  const engine = await createEngine();
  const marks = () => performance.getEntriesByType('measure').filter(({ name }) => name.startsWith('tandem: '));
  performance.clearMeasures();

  const vad = await engine.loadSileroVad({ weights });
  const other = await engine.loadSileroVad({ weights });
  const window = (i) => Float32Array.from({ length: 512 }, (_, n) => 0.2 * Math.sin(n * (0.05 + 0.01 * i)));
  for (let i = 0; i < 3; i++) if (vad.step(window(i)) !== other.step(window(i))) problems.push('two detectors differ');
  let began = performance.now();
  const rows = vad.executeProfiled({ repetitions: 300 });
  checkRows('Silero', rows, 300, performance.now() - began, problems);
  checkMarks(rows, marks(), problems);
  // Multiplications and additions of the network by its shapes: spectrum (folded, four parts of 64 x 64 for each of four
  // frames), four convolutions, LSTM, last layer; those that only meet zeros of the padding may be left out.
  const all = 2 * (4 * 4 * 64 * 64 + 4 * 128 * 129 * 3 + 2 * 64 * 128 * 3 + 64 * 64 * 3 + 128 * 64 * 3 + 512 * 256 + 128);
  const flops = rows.reduce((sum, row) => sum + row.flops, 0);
  if (!(flops > 0.7 * all && flops < 1.2 * all)) problems.push(`Silero has ${flops} operations, its shapes say ${all}`);
  for (let i = 3; i < 6; i++) {
    const [found, wanted] = [vad.step(window(i)), other.step(window(i))];
    if (found !== wanted) problems.push(`a profile changed the stream: ${found}, not ${wanted}`);
  }

  const graph = engine.compileGraph(MATMUL);
  const inputs = [new Float32Array(64 * 32).fill(0.5), new Float32Array(16 * 32).fill(2)];
  began = performance.now();
  const matmul = graph.executeProfiled(inputs, {}, { repetitions: 1000, marks: false });
  checkRows('a product', matmul, 1000, performance.now() - began, problems);
  const product = matmul.reduce((sum, row) => sum + row.flops, 0);
  if (product !== 2 * 64 * 16 * 32) problems.push(`a product of 64 x 32 and 32 x 16 has ${product} operations`);
  if (!matmul.some(({ bytes }) => bytes >= 4 * (64 * 32 + 16 * 32 + 64 * 16))) problems.push('a product without bytes');
  if (marks().length !== rows.length) problems.push('marks: false left marks');
  if (graph.run(inputs)[0].data.some((value) => value !== 32)) problems.push('a profiled product is wrong');

  for (const repetitions of [0, -1, 1.5, NaN, 1e7, '3']) {
    const code = codeOf(() => vad.executeProfiled({ repetitions }));
    if (code !== 'InvalidArgument') problems.push(`repetitions ${repetitions}: ${code}`);
  }
  vad.destroy();
  graph.destroy();
  for (const profile of [() => vad.executeProfiled(), () => graph.executeProfiled(inputs)]) {
    const code = codeOf(profile);
    if (code !== 'Destroyed') problems.push(`a profile of what was destroyed: ${code}`);
  }
  performance.clearMeasures();
  engine.destroy();
  return problems;
}
