import { bytesHere, bytesOf, isAddress, placeOf } from './bytes.js';
import { TandemError, describe, numberOf, oneOf, optionsOf } from './errors.js';
import { openSource, readInto } from './loading.js';
import { now, profiled } from './profile.js';
import { checkSamples } from './samples.js';

const OPTIONS = ['weights', 'config', 'vocabulary', 'tokenizer', 'head', 'weightsDtype', 'activations', 'maxSeconds', 'lanes', 'beamWidth',
  'isa', 'numerics', 'tune', 'onProgress'];
const MOST_SECONDS = 30;
const TOKENS = 0;
const WORDS = 1;

function wholeOf(name, value, least, most) {
  if (Number.isInteger(numberOf(name, value)) && value >= least && value <= most) return value;
  throw new TandemError('InvalidArgument', `${name} is ${value}; it must be a whole number from ${least} to ${most}`);
}

/** A file of that name in the folder of another one; nothing where the other one has no folder. */
function beside(address, name) {
  if (!isAddress(address)) return undefined;
  const { url, path } = placeOf(address);
  if (path === undefined) return /^(data|blob):/.test(url) ? undefined : new URL(name, url);
  return path instanceof URL ? new URL(name, path) : path.replace(/[^/\\]*$/, '') + name;
}

/** The bytes of a file that may be missing. */
async function bytesIfThere(source, what) {
  try {
    return await bytesOf(source, what);
  } catch (error) {
    if (error.code === 'NotFound' || error.status === 404) return undefined;
    throw error;
  }
}

/** Options that are the same for every model of it; each wrong one is named. */
function checkOptions(engine, options) {
  const { weights, vocabulary, onProgress } = options;
  if (weights === undefined || (Array.isArray(weights) && weights.length === 0)) {
    throw new TandemError(
      'InvalidArgument', 'weights are missing; give the bytes, the URL or the path of model.safetensors or of its index');
  }
  if (vocabulary !== undefined && !(Array.isArray(vocabulary) && vocabulary.every((text) => typeof text === 'string'))) {
    throw new TandemError('InvalidArgument', `vocabulary is ${describe(vocabulary)}; it must be an array of strings`);
  }
  if (vocabulary?.some((text) => text.includes('\0'))) {
    throw new TandemError('InvalidArgument', 'a text of the vocabulary holds a zero character');
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw new TandemError('InvalidArgument', `onProgress is ${describe(onProgress)}; it must be a function`);
  }
  const maxSeconds = numberOf('maxSeconds', options.maxSeconds ?? MOST_SECONDS);
  if (!(maxSeconds >= 1 && maxSeconds <= MOST_SECONDS)) {
    throw new TandemError(
      'InvalidArgument', `maxSeconds is ${maxSeconds}; it must be from 1 to ${MOST_SECONDS}: split longer recordings at their ` +
        'silences');
  }
  return {
    head: options.head === undefined ? '' : oneOf('head', options.head, ['ctc', 'rnnt']),
    dtype: options.weightsDtype === undefined ? '' : oneOf('weightsDtype', options.weightsDtype, ['f32', 'f16', 'bf16', 'i8']),
    activations: options.activations === undefined ? 'f32' : oneOf('activations', options.activations, ['f32', 'bf16']),
    lanes: wholeOf('lanes', options.lanes ?? 1, 1, 64),
    beamWidth: wholeOf('beamWidth', options.beamWidth ?? 0, 0, 10000),
    maxSeconds,
    mode: engine.modeOf(options),
    isa: engine.isaOf(options),
  };
}

/** Speech in short clips to text. Made by engine.loadGigaAM(). */
export class GigaAm {
  #engine;
  #handle = 0;

  static async load(engine, given) {
    const options = optionsOf('loadGigaAM()', given, OPTIONS);
    const checked = checkOptions(engine, options);
    const { onProgress = () => {} } = options;
    const started = now();
    const weights = await readWeights(engine, options.weights, onProgress);
    const handle = engine.call('tandem_gigaam_make', weights);
    engine.call('tandem_weights_destroy', weights);
    if (!handle) throw engine.failure();
    try {
      await configure(engine, handle, options);
      await findVocabulary(engine, handle, options);
      await engine.readTiles(options);
      engine.check();
      onProgress({ phase: 'prepare' });
      const { head, dtype, activations, isa, mode, maxSeconds, lanes, beamWidth } = checked;
      engine.stopWarmUp();
      const prepared = now();
      const done = engine.withCopies([head, dtype, activations, isa], (...texts) =>
        engine.call('tandem_gigaam_prepare', handle, ...texts, mode, maxSeconds, lanes, beamWidth));
      if (!done) throw engine.failure();
      engine.keepTiles(options);
      return new GigaAm(engine, handle, { loadMs: prepared - started, prepareMs: now() - prepared });
    } catch (error) {
      if (engine.isLive) engine.call('tandem_gigaam_destroy', handle);
      throw error;
    }
  }

  /** Use engine.loadGigaAM(). */
  constructor(engine, handle, timings) {
    this.#engine = engine;
    this.#handle = handle;
    engine.adopt(this);
    const [maxSamples, samplesPerFrame, features, classes, lanes, sampleRate] =
      [0, 1, 2, 3, 4, 5].map((which) => this.#call('fact', which));
    Object.assign(this, { maxSamples, samplesPerFrame, features, classes, lanes, sampleRate });
    this.head = engine.text(this.#call('head'));
    /** Milliseconds: reading the files, preparing. */
    this.timings = Object.freeze(timings);
  }

  #call(name, ...values) {
    if (!this.#handle) throw new TandemError('Destroyed', 'the recogniser was destroyed; load it again');
    return this.#engine.call('tandem_gigaam_' + name, this.#handle, ...values);
  }

  /** What is said in a clip: { text, tokens, words }. */
  transcribe(samples) {
    const done = this.#withClip('transcribe()', samples, (address) => this.#call('transcribe', address, samples.length));
    if (!done) throw this.#engine.failure();
    return {
      text: this.#engine.text(this.#call('text')),
      tokens: this.#list(TOKENS).map((token, i) => ({ id: this.#call('list_number', TOKENS, i, 2), ...token })),
      words: this.#list(WORDS),
    };
  }

  #list(which) {
    return Array.from({ length: this.#call('list_size', which) }, (_, i) => ({
      text: this.#engine.text(this.#call('list_text', which, i)),
      start: this.#call('list_number', which, i, 0),
      end: this.#call('list_number', which, i, 1),
    }));
  }

  /** The front end alone: { features, frames, data }. */
  logMel(samples) {
    const frames = this.#withClip('logMel()', samples, (address) => this.#call('log_mel', address, samples.length));
    if (frames < 0) throw this.#engine.failure();
    return { features: this.features, frames, data: this.#floats(0, this.features * frames) };
  }

  /**
   * Recognises a clip `repetitions` times (1), kernel by kernel, and returns the mean of each, as SileroVad does: those of the
   * encoder and its head's share of each frame, without the front end and the rest of the decoder.
   */
  executeProfiled(samples, options = {}) {
    return profiled(this.#engine, 'GigaAM', options, (repetitions) =>
      this.#withClip('executeProfiled()', samples, (address) =>
        this.#call('profile', address, samples.length, repetitions)), 1);
  }

  /** A batch of log-mel [lanes, features, frames], each lane with its length in frames. */
  recognizeMel(mel, lengths) {
    this.#checkLive();
    for (const [name, value, Type] of [['mel', mel, Float32Array], ['lengths', lengths, Int32Array]]) {
      if (value instanceof Type) continue;
      throw new TandemError('InvalidArgument', `${name} is ${describe(value)}; it must be a ${Type.name}`);
    }
    const engine = this.#engine;
    // A number that is not whole is refused there, with the shape that was expected.
    const t = lengths.length ? Math.ceil(mel.length / (lengths.length * this.features)) : 0;
    const done = engine.withCopies([mel, lengths], (melAddress, lengthsAddress) =>
      this.#call('recognize', melAddress, mel.length, lengthsAddress, lengths.length, t));
    if (!done) throw engine.failure();
    const [frames, width, scoreWidth, lanes] = [0, 1, 2, 3].map((which) => this.#call('size', which));
    return {
      frames, width, scoreWidth,
      encoded: this.#floats(1, lanes * frames * width),
      scores: this.#floats(2, lanes * frames * scoreWidth),
      encodedLengths: engine.view(Int32Array, this.#call('array', 3), lanes).slice(),
      sequences: Array.from({ length: lanes }, (_, lane) => {
        const size = this.#call('sequence_size', lane);
        const [tokens, tokenFrames] = [0, 1].map((which) =>
          engine.view(Int32Array, this.#call('sequence', lane, which), size).slice());
        return { tokens, frames: tokenFrames };
      }),
    };
  }

  #floats(which, count) {
    return this.#engine.view(Float32Array, this.#call('array', which), count).slice();
  }

  #checkLive() {
    if (!this.#handle) throw new TandemError('Destroyed', 'the recogniser was destroyed; load it again');
    this.#engine.check();
  }

  #withClip(method, samples, use) {
    this.#checkLive();
    checkSamples(samples);
    if (samples.length > this.maxSamples) {
      throw new TandemError(
        'InvalidArgument',
        `${method} got ${samples.length} samples; this recogniser takes at most ${this.maxSamples} (maxSeconds ` +
          `${this.maxSamples / this.sampleRate}): split longer recordings at their silences`,
        { expected: this.maxSamples, actual: samples.length },
      );
    }
    return this.#engine.withCopies([samples], use);
  }

  destroy() {
    if (!this.#handle) return;
    if (this.#engine.isLive) this.#call('destroy');
    this.#handle = 0;
    this.#engine.forget(this);
  }
}

/** Reads the file, or all files of an index or a list; the number of what was read. */
async function readWeights(engine, source, onProgress) {
  const { origin, sources } = await filesOf(engine, source);
  const files = [];
  const handles = [];
  try {
    // All first, so that the number of bytes is known.
    for (const { name, file } of sources) files.push(await openSource(file, name));
    const total = files.every(({ size }) => size !== undefined) ? files.reduce((sum, { size }) => sum + size, 0) : undefined;
    let loaded = 0;
    const report = (bytes) => {
      loaded += bytes;
      onProgress({ phase: 'weights', loaded, total });
    };
    report(0);
    for (const [i, file] of files.entries()) {
      const { address, size } = await readInto(engine, file, report);
      const handle = engine.withCopies([sources[i].name], (name) => engine.call('tandem_weights_read', address, size, name));
      if (!handle) throw engine.failure();
      handles.push(handle);
    }
    if (handles.length === 1) return handles.pop();
    const all = engine.withCopies([Uint32Array.from(handles), origin], (numbers, name) =>
      engine.call('tandem_weights_join', numbers, handles.length, name));
    if (!all) throw engine.failure();
    return all;
  } finally {
    for (const file of files) file.close();
    if (engine.isLive) for (const handle of handles) engine.call('tandem_weights_destroy', handle);
  }
}

async function filesOf(engine, source) {
  if (Array.isArray(source)) {
    return {
      origin: 'the given weights',
      sources: source.map((file, i) => ({ name: isAddress(file) ? String(file) : `file ${i} of the given weights`, file })),
    };
  }
  const bytes = bytesHere(source, 'the weights of GigaAM');
  const name = bytes ? 'the given weights' : String(source);
  if (bytes || !/\.json([?#].*)?$/.test(name)) return { origin: name, sources: [{ name, file: source }] };
  const index = await bytesOf(source, 'the index of the weights');
  engine.check();
  const found = engine.withCopies([index, name], (address, origin) =>
    engine.call('tandem_weights_index', address, index.length, origin));
  if (!found) throw engine.failure();
  const names = engine.text(found).split('\n').slice(0, -1);
  return { origin: name, sources: names.map((file) => ({ name: file, file: beside(source, file) })) };
}

/** The configuration: as given, or that in the metadata of the weights, or config.json beside them. */
async function configure(engine, handle, { config, weights }) {
  const use = (json, origin) => {
    const bytes = typeof json === 'string' ? engine.encode(json) : json;
    return engine.withCopies([bytes, origin], (address, name) =>
      engine.call('tandem_gigaam_configure', handle, address, bytes.length, name));
  };
  if (config !== undefined) {
    const isPlain = Object.prototype.toString.call(config) === '[object Object]' && !(config instanceof URL);
    const json = isPlain ? JSON.stringify(config) : await bytesOf(config, 'the configuration of GigaAM');
    engine.check();
    // Nothing means another place there.
    if (!use(json.length ? json : ' ', isAddress(config) ? String(config) : 'config')) throw engine.failure();
    return;
  }
  if (use('', '')) return;
  const failure = engine.failure();
  const place = Array.isArray(weights) ? undefined : beside(weights, 'config.json');
  if (failure.code !== 'NotFound') throw failure;
  const json = place && (await bytesIfThere(place, 'the configuration of GigaAM'));
  engine.check();
  if (!json) {
    throw new TandemError(
      'NotFound', 'the configuration is missing: give config; there is none in the metadata of the weights' +
        (place ? `, and no ${place}` : ''));
  }
  if (!use(json, String(place))) throw engine.failure();
}

/** The vocabulary: as given, or the characters of the configuration, or tokenizer.model beside the weights. */
async function findVocabulary(engine, handle, { vocabulary, tokenizer, weights }) {
  if (vocabulary !== undefined) {
    const texts = engine.encode(vocabulary.map((text) => text + '\0').join(''));
    const done = engine.withCopies([texts], (address) =>
      engine.call('tandem_gigaam_vocabulary', handle, address, texts.length));
    if (!done) throw engine.failure();
    return;
  }
  if (tokenizer === undefined && engine.call('tandem_gigaam_has_vocabulary', handle)) return;
  const place = tokenizer ?? (Array.isArray(weights) ? undefined : beside(weights, 'tokenizer.model'));
  const read = tokenizer === undefined ? bytesIfThere : bytesOf;
  const bytes = place && (await read(place, 'the tokenizer of GigaAM'));
  engine.check();
  if (!bytes) {
    throw new TandemError(
      'NotFound', 'the vocabulary is missing: give vocabulary or tokenizer; the configuration lists no characters ("labels")' +
        (place ? `, and there is no ${place}` : ''));
  }
  const done = engine.withCopies([bytes, isAddress(place) ? String(place) : 'tokenizer'], (address, origin) =>
    engine.call('tandem_gigaam_tokenizer', handle, address, bytes.length, origin));
  if (!done) throw engine.failure();
}
