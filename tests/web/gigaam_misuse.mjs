// What loading GigaAM takes, and what must fail, and how: shared by Node.js and the browser.
import { LABELS, clipOf, loadGolden } from './gigaam.mjs';
import { readSafetensors, weightsOf, writeSafetensors } from './safetensors.mjs';
import { withTrappingKernels } from './trap.mjs';

function makeNotes() {
  const problems = [];
  return {
    problems,
    same(what, found, expected) {
      const [a, b] = [found, expected].map((value) => JSON.stringify(value));
      if (a !== b) problems.push(`${what}: ${a}, not ${b}`);
    },
    /** A TandemError of one of these codes whose message has all of these words; gives it. */
    async refuses(what, codes, words, action) {
      try {
        await action();
        problems.push(`${what}: no error`);
      } catch (error) {
        const missing = words.filter((word) => !String(error.message).includes(word));
        if (error.name !== 'TandemError' || ![codes].flat().includes(error.code) || missing.length) {
          problems.push(`${what}: ${error.name} ${error.code}: ${error.message}${missing.map((one) => `; without "${one}"`)}`);
        }
        return error;
      }
      return undefined;
    },
  };
}

/** A model whose vocabulary is a SentencePiece model: the classes of the small one stand at some of its ordinary pieces. */
export function tokenizerModel(golden, pieces) {
  const file = readSafetensors(golden.bytes);
  const config = JSON.parse(file.metadata.config);
  const tensors = weightsOf(file);
  const [weight, bias] = ['weight', 'bias'].map((part) => tensors[`head.decoder_layers.0.${part}`]);
  const [classes, width] = weight.shape;
  const ordinary = pieces.flatMap(([, , kind], id) => (kind === 'normal' ? [id] : []));
  const places = [...ordinary.slice(0, classes - 1), pieces.length];
  const more = { weight: new Float32Array((pieces.length + 1) * width), bias: new Float32Array(pieces.length + 1).fill(-1000) };
  places.forEach((place, id) => {
    more.weight.set(weight.data.subarray(id * width, (id + 1) * width), place * width);
    more.bias[place] = bias.data[id];
  });
  tensors['head.decoder_layers.0.weight'] = { dtype: 'F32', shape: [pieces.length + 1, width, 1], data: more.weight };
  tensors['head.decoder_layers.0.bias'] = { dtype: 'F32', shape: [pieces.length + 1], data: more.bias };
  config.head.num_classes = pieces.length + 1;
  const text = (ids) => ids.map((id) => pieces[places[id]][0]).join('').replaceAll('\u2581', ' ').trim();
  return { tensors, config, text };
}

/**
 * Weights as bytes, as one file and as several, with configuration and vocabulary as options, in the file and beside it.
 * `folder`: address of what makeGigaAmFiles() of files.mjs has written, with '/' at its end.
 */
export async function checkLoading(engine, read, folder) {
  const { problems, same, refuses } = makeNotes();
  const golden = await loadGolden(read, 'e2e_tiny');
  const file = readSafetensors(golden.bytes);
  const config = JSON.parse(file.metadata.config);
  const tensors = weightsOf(file);
  const clip = clipOf(golden);
  const say = async (options) => {
    const recognizer = await engine.loadGigaAM({ maxSeconds: 2, ...options });
    const { text } = await recognizer.transcribe(clip);
    await recognizer.destroy();
    return text;
  };
  const said = await say({ weights: golden.bytes, vocabulary: LABELS });
  same('a text', said.length, 11);
  const bare = writeSafetensors(tensors);
  const json = new TextEncoder().encode(JSON.stringify({ ...config, labels: LABELS }));
  same('a configuration as an object', await say({ weights: bare, config: { ...config, labels: LABELS } }), said);
  same('a configuration as bytes', await say({ weights: bare.buffer, config: json }), said);
  same('a vocabulary beside it', await say({ weights: bare, config, vocabulary: LABELS, head: 'ctc' }), said);
  const none = ['config', 'vocabulary', 'tokenizer', 'head', 'weightsDtype', 'activations', 'lanes', 'beamWidth', 'isa', 'numerics',
    'onProgress'];
  const nulls = Object.fromEntries(none.map((name) => [name, null]));
  same('options that are null', await say({ ...nulls, weights: golden.bytes, vocabulary: LABELS }), said);
  same('a configuration with options that are null', await say({
    ...nulls, weights: bare, config: { ...config, labels: LABELS }, maxSeconds: null }), said);
  const prefixed = Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [`model.${name}`, tensor]));
  same('names with a prefix', await say({ weights: writeSafetensors(prefixed), config, vocabulary: LABELS }), said);
  const names = Object.keys(tensors);
  const parts = [0, 1, 2].map((part) =>
    writeSafetensors(Object.fromEntries(names.filter((_, i) => i % 3 === part).map((name) => [name, tensors[name]]))));
  same('several files as bytes', await say({ weights: parts, config, vocabulary: LABELS }), said);
  await refuses('a tensor in two files', 'InvalidFormat', ['two tensors have the name'], () =>
    say({ weights: [...parts, parts[0]], config, vocabulary: LABELS }));
  await refuses('a file that is not there', 'NotFound', [], () => say({ weights: parts.slice(1), config, vocabulary: LABELS }));

  // Addresses: configuration and vocabulary lie beside the weights.
  const steps = [];
  const onProgress = (progress) => steps.push({ ...progress });
  same('a file', await say({ weights: `${folder}single/model.safetensors`, onProgress }), said);
  same('progress', steps.length >= 3 && steps.every((step, i) => step.phase === (i + 1 < steps.length ? 'weights' : 'prepare')), true);
  const loads = steps.slice(0, -1);
  same('bytes', [loads[0].loaded, loads.at(-1).loaded, loads.at(-1).total],
    [0, bare.length, bare.length]);
  same('bytes grow', loads.every(({ loaded, total }, i) => total === bare.length && (i === 0 || loaded > loads[i - 1].loaded)), true);
  steps.length = 0;
  same('an index', await say({ weights: `${folder}several/model.safetensors.index.json`, onProgress }), said);
  const sizes = parts.reduce((sum, { length }) => sum + length, 0);
  same('bytes of several files', [steps.at(-2).loaded, steps.at(-2).total, steps.at(-1).phase], [sizes, sizes, 'prepare']);
  await refuses('a file of an index that is not there', ['NotFound', 'Load'], ['gone.safetensors'], () =>
    say({ weights: `${folder}gone/model.safetensors.index.json` }));
  await refuses('an index that leads elsewhere', 'InvalidFormat', ['../model.safetensors', 'not one beside'], () =>
    say({ weights: `${folder}elsewhere/model.safetensors.index.json` }));
  await refuses('an index that is none', 'InvalidFormat', ['weight_map'], () => say({ weights: `${folder}single/config.json` }));
  await refuses('weights that are not there', ['NotFound', 'Load'], ['nothing.safetensors'], () =>
    say({ weights: `${folder}nothing.safetensors` }));
  await refuses('no configuration', 'NotFound', ['configuration', 'config.json'], () =>
    say({ weights: `${folder}bare/model.safetensors`, vocabulary: LABELS }));
  await refuses('no vocabulary', 'NotFound', ['vocabulary', 'labels', 'tokenizer.model'], () =>
    say({ weights: `${folder}bare/model.safetensors`, config }));

  const own = new Error('from the page');
  const { objects } = await engine.counters();
  for (const phase of ['weights', 'prepare']) {
    const found = await engine.loadGigaAM({
      weights: golden.bytes, vocabulary: LABELS, maxSeconds: 1,
      onProgress(progress) {
        if (progress.phase === phase) throw own;
      },
    }).catch((error) => error);
    same(`an error of the page at ${phase}`, found === own, true);
  }
  same('objects after it', (await engine.counters()).objects, objects);

  const decoded = JSON.parse(new TextDecoder().decode(await read('text/decoded.json')));
  const model = tokenizerModel(golden, decoded.models.unigram_symbols.pieces);
  const spelled = model.text(Array.from(golden.values('expected.tokens')));
  same('a text of pieces', spelled.length > 11, true);
  same('a tokenizer beside the weights', await say({ weights: `${folder}tokenizer/model.safetensors` }), spelled);
  same('a tokenizer as bytes', await say({
    weights: writeSafetensors(model.tensors), config: model.config, tokenizer: await read('text/unigram_symbols.model'),
  }), spelled);
  await refuses('a tokenizer of another model', 'InvalidFormat', ['120 entries'], async () =>
    say({ weights: bare, config, tokenizer: await read('text/bpe.model') }));
  await refuses('a tokenizer that is none', 'InvalidFormat', ['tokenizer', 'SentencePiece'], () =>
    say({ weights: bare, config, tokenizer: new Uint8Array(9) }));
  return problems;
}

/** Weights, configurations and options that are refused by name, on an engine that goes on. */
export async function checkRefusals(engine, read) {
  const { problems, same, refuses } = makeNotes();
  const golden = await loadGolden(read, 'e2e_tiny');
  const file = readSafetensors(golden.bytes);
  const config = JSON.parse(file.metadata.config);
  const tensors = weightsOf(file);
  const load = (options) => engine.loadGigaAM({ weights: golden.bytes, vocabulary: LABELS, maxSeconds: 1, ...options });

  for (const length of [0, 1, 8, 100, 5000, golden.bytes.length >> 1, golden.bytes.length - 1]) {
    await refuses(`weights cut to ${length} bytes`, 'InvalidFormat', [], () => load({ weights: golden.bytes.subarray(0, length) }));
  }
  const { 'encoder.layers.1.conv.depthwise_conv.weight': gone, ...others } = tensors;
  await refuses('a missing weight', 'NotFound', ['encoder.layers.1.conv.depthwise_conv.weight', 'lacks 1'], () =>
    load({ weights: writeSafetensors(others), config }));
  const odd = { ...tensors, 'encoder.layers.1.conv.depthwise_conv.weight': { ...gone, shape: [gone.data.length] } };
  await refuses('a weight of another shape', 'InvalidFormat', ['depthwise_conv.weight', `f32 [${gone.data.length}]`], () =>
    load({ weights: writeSafetensors(odd), config }));
  const page = new TextEncoder().encode('<!doctype html><title>not found</title>');
  await refuses('a page as weights', 'InvalidFormat', [], () => load({ weights: page }));
  await refuses('no weights', 'InvalidArgument', ['weights'], () => load({ weights: undefined }));
  await refuses('a list of none', 'InvalidArgument', ['weights'], () => load({ weights: [] }));
  await refuses('weights of a wrong type', 'InvalidArgument', ['number 3'], () => load({ weights: 3 }));

  const changed = (change) => {
    const copy = structuredClone(config);
    change(copy);
    return { config: copy };
  };
  await refuses('no configuration', 'NotFound', ['configuration'], () => load({ weights: writeSafetensors(tensors) }));
  await refuses('another configuration', 'InvalidFormat', ['GigaAM'], () => load({ config: { something: 1 } }));
  await refuses('no JSON', 'InvalidFormat', ['config'], () => load({ config: page }));
  await refuses('an empty configuration', 'InvalidFormat', ['config'], () => load({ config: new Uint8Array(0) }));
  await refuses('a configuration of a wrong type', 'InvalidArgument', ['number 3'], () => load({ config: 3 }));
  await refuses('one layer more', 'NotFound', ['encoder.layers.2.norm_feed_forward1.weight'], () =>
    load(changed((one) => (one.encoder.n_layers = 3))));
  await refuses('another attention', 'Unsupported', ['rel_pos'], () =>
    load(changed((one) => (one.encoder.self_attention_model = 'rel_pos'))));
  await refuses('no head', 'InvalidArgument', ['no "head"'], () => load(changed((one) => delete one.head)));
  await refuses('no encoder', 'InvalidArgument', ['no "encoder"'], () => load(changed((one) => delete one.encoder)));
  await refuses('a class more', 'InvalidFormat', ['f32 [35, 64, 1]'], () =>
    load({ ...changed((one) => (one.head.num_classes = 35)), vocabulary: [...LABELS, 'ё'] }));
  await refuses('few positions', 'Unsupported', ['"pos_emb_max_len" 10', 'reach only 40'], () =>
    load(changed((one) => (one.encoder.pos_emb_max_len = 10))));
  await refuses('the other head', 'InvalidArgument', ['head is "rnnt"', 'the head "ctc"'], () => load({ head: 'rnnt' }));
  await refuses('a head that is none', 'InvalidArgument', ['head', '"both"'], () => load({ head: 'both' }));
  await refuses('a letter too few', 'InvalidFormat', ['32 entries'], () => load({ vocabulary: LABELS.slice(1) }));
  await refuses('a letter without text', 'InvalidFormat', [], () => load({ vocabulary: ['', ...LABELS.slice(1)] }));
  await refuses('letters that are none', 'InvalidArgument', ['vocabulary'], () => load({ vocabulary: [1, 2] }));
  await refuses('a vocabulary that is no list', 'InvalidArgument', ['vocabulary'], () => load({ vocabulary: 'abc' }));
  await refuses('a zero in a letter', 'InvalidArgument', ['vocabulary'], () => load({ vocabulary: ['\0', ...LABELS.slice(1)] }));
  for (const [name, values] of Object.entries({
    weightsDtype: ['f64', 'int8', 16], activations: ['f16', 'i8', 16], maxSeconds: [0, 0.5, 31, NaN, '3'], lanes: [0, 65, 1.5, '1'], beamWidth: [-1, 10001, 2.5],
    isa: ['avx2'], numerics: ['exact'], onProgress: [3],
  })) {
    for (const value of values) {
      await refuses(`${name} ${value}`, 'InvalidArgument', [name], () => load({ [name]: value }));
    }
  }
  await refuses('an unknown option', 'InvalidArgument', ['"maxLength"'], () => load({ maxLength: 3 }));
  const rnnt = await loadGolden(read, 'rnnt_tiny');
  await refuses('a beam for a transducer', 'InvalidArgument', ['beam'], () => load({ weights: rnnt.bytes, beamWidth: 4 }));

  // Samples; the next call works.
  const recognizer = await load({ maxSeconds: 2, lanes: 2 });
  const clip = clipOf(golden);
  const { text } = await recognizer.transcribe(clip);
  const next = async (what) => same(`a clip after ${what}`, (await recognizer.transcribe(clip)).text, text);
  for (const value of [NaN, Infinity, -Infinity]) {
    const bad = clip.slice();
    bad[777] = value;
    for (const method of ['transcribe', 'logMel']) {
      const error = await refuses(`${method} of ${value}`, 'NonFinite', ['sample 777'], () => recognizer[method](bad));
      same(`its place in ${method}`, error?.index, 777);
    }
    await next(value);
  }
  const long = await refuses('a clip that is too long', 'InvalidArgument', ['32001', '32000', 'silences'], () =>
    recognizer.transcribe(new Float32Array(32001)));
  same('its sizes', [long?.expected, long?.actual], [32000, 32001]);
  await refuses('samples of another type', 'InvalidArgument', ['Float64Array'], () => recognizer.transcribe(new Float64Array(9)));
  // The front end clamps.
  await recognizer.transcribe(clip.map(() => 3e38));
  await next('samples that overflow');
  const { features, frames, data } = await recognizer.logMel(clip);
  const lengths = Int32Array.of(frames);
  await refuses('a mel that is cut', 'InvalidArgument', [`${features * frames - 1} elements`], () =>
    recognizer.recognizeMel(data.subarray(1), lengths));
  await refuses('a length beyond the end', 'InvalidArgument', ['lane 0', `${frames + 1}`], () =>
    recognizer.recognizeMel(data, Int32Array.of(frames + 1)));
  await refuses('a length below 0', 'InvalidArgument', ['lane 0', '-1'], () => recognizer.recognizeMel(data, Int32Array.of(-1)));
  await refuses('no lanes', 'Variable', ['b is 0'], () => recognizer.recognizeMel(data, new Int32Array(0)));
  await refuses('too many lanes', 'Variable', ['b is 3'], () =>
    recognizer.recognizeMel(new Float32Array(3 * features), Int32Array.of(1, 1, 1)));
  await refuses('too many frames', 'Variable', ['t is 201'], () =>
    recognizer.recognizeMel(new Float32Array(201 * features), Int32Array.of(1)));
  await refuses('a mel with a hole', 'NonFinite', ['element 5'], () =>
    recognizer.recognizeMel(data.map((value, i) => (i === 5 ? NaN : value)), lengths));
  await refuses('a mel of another type', 'InvalidArgument', ['mel', 'Float64Array'], () =>
    recognizer.recognizeMel(new Float64Array(64), lengths));
  await refuses('lengths of another type', 'InvalidArgument', ['lengths', 'Array of 1'], () => recognizer.recognizeMel(data, [1]));
  await next('wrong batches');
  const silent = await recognizer.recognizeMel(data, Int32Array.of(0));
  same('a lane without frames', [silent.encodedLengths[0], silent.sequences[0].tokens.length], [0, 0]);
  await recognizer.destroy();
  for (const use of [() => recognizer.transcribe(clip), () => recognizer.logMel(clip), () => recognizer.recognizeMel(data, lengths)]) {
    await refuses('what was destroyed', 'Destroyed', [], use);
  }
  return problems;
}

/** Kernels that trap. */
async function checkTrap(createEngine, options, clip, refuses) {
  const engine = await createEngine();
  await withTrappingKernels(async () => {
    const recognizer = await engine.loadGigaAM(options);
    for (const method of ['transcribe', 'logMel', 'transcribe']) {
      await refuses(`${method} that traps`, 'Broken', ['unreachable'], () => recognizer[method](clip));
    }
    await refuses('an engine with a trap', 'Broken', ['unreachable'], () => engine.counters());
    recognizer.destroy();
    engine.destroy();
  });
}

/** What only an engine of this thread can be asked: memory, callbacks, what stays when recognisers come and go. */
export async function checkLifetimes(createEngine, read) {
  const { problems, same, refuses } = makeNotes();
  const golden = await loadGolden(read, 'e2e_tiny');
  const clip = clipOf(golden);
  const options = { weights: golden.bytes, vocabulary: LABELS, maxSeconds: 2 };
  const engine = await createEngine();
  const once = async () => {
    const recognizer = await engine.loadGigaAM(options);
    recognizer.transcribe(clip);
    recognizer.destroy();
    recognizer.destroy();
    await refuses('weights that are cut', 'InvalidFormat', [], () =>
      engine.loadGigaAM({ ...options, weights: golden.bytes.subarray(0, 5000) }));
    await refuses('another head', 'InvalidArgument', [], () => engine.loadGigaAM({ ...options, head: 'rnnt' }));
  };
  for (let i = 0; i < 3; i++) await once();
  const before = engine.counters();
  for (let i = 0; i < 10; i++) await once();
  const after = engine.counters();
  for (const name of ['objects', 'modules', 'tableSlots', 'memoryBytes']) same(name, after[name], before[name]);
  if (after.allocatedBytes > before.allocatedBytes + 4096) {
    problems.push(`allocated: ${before.allocatedBytes} bytes before, ${after.allocatedBytes} after`);
  }

  await refuses('an engine that is destroyed meanwhile', 'Destroyed', [], () =>
    engine.loadGigaAM({ ...options, onProgress: ({ phase }) => phase === 'weights' && engine.destroy() }));

  // A recogniser survives growth of the memory, and is refused where there is no room for it.
  const other = await createEngine();
  const recognizer = await other.loadGigaAM(options);
  const { text } = recognizer.transcribe(clip);
  const { memoryBytes } = other.counters();
  const big = other.compileGraph(`%0 = input f32[${8 << 20}] number=0 "a"\n%1 = neg f32[${8 << 20}] %0\noutputs %1 "y"\n`);
  same('growth', other.counters().memoryBytes > memoryBytes, true);
  same('a clip after growth', recognizer.transcribe(clip).text, text);
  big.destroy();
  other.destroy();
  await refuses('a clip after the engine', 'Destroyed', [], () => recognizer.transcribe(clip));
  await checkTrap(createEngine, options, clip, refuses);
  const small = await createEngine({ maximumMemory: 20 << 20 });
  await refuses('too little memory', ['MemoryLimit', 'Device'], [], () => small.loadGigaAM({ ...options, maxSeconds: 30, lanes: 64 }));
  same('an engine with little memory', small.counters().objects, 0);
  small.destroy();
  return problems;
}
