import { TandemError, describe, numberOf, optionsOf } from './errors.js';

const DEFAULTS = {
  threshold: 0.5,
  negThreshold: undefined,
  minSpeechDurationMs: 250,
  maxSpeechDurationS: Infinity,
  minSilenceDurationMs: 100,
  speechPadMs: 30,
  minSilenceAtMaxSpeechMs: 98,
  useLongestSilenceAtMaxSpeech: true,
  returnSeconds: false,
  timeResolution: 1,
};
const OTHER = ['sampleRate', 'samples'];

/** What is given, and the defaults of what isn't. */
function withDefaults(call, given, defaults, other) {
  const options = optionsOf(call, given, [...Object.keys(defaults), ...other]);
  return { ...defaults, ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) };
}

/** Segments [{ start, end }] in samples or seconds, with the semantics of Silero's get_speech_timestamps. */
export function speechTimestamps(engine, probabilities, options) {
  engine.check();
  if (!Array.isArray(probabilities) && !ArrayBuffer.isView(probabilities)) {
    throw new TandemError('InvalidArgument', `probabilities are ${describe(probabilities)}; give an array of numbers`);
  }
  const all = withDefaults('speechTimestamps()', options, DEFAULTS, OTHER);
  const sampleRate = numberOf('sampleRate', all.sampleRate ?? 16000);
  const window = sampleRate === 8000 ? 256 : 512 * Math.max(1, Math.floor(sampleRate / 16000));
  const samples = numberOf('samples', all.samples ?? probabilities.length * window);
  if (!Number.isSafeInteger(sampleRate) || !Number.isSafeInteger(samples)) {
    throw new TandemError('InvalidArgument', `sampleRate ${sampleRate} and samples ${samples} must be whole numbers`);
  }
  const values = Float64Array.of(
    ...['threshold', 'negThreshold', 'minSpeechDurationMs', 'maxSpeechDurationS', 'minSilenceDurationMs', 'speechPadMs',
      'minSilenceAtMaxSpeechMs'].map((name) => (all[name] === undefined ? NaN : numberOf(name, all[name]))),
    all.useLongestSilenceAtMaxSpeech ? 1 : 0,
    all.returnSeconds ? numberOf('timeResolution', all.timeResolution) : NaN,
  );
  if (Number.isNaN(values[1]) && all.negThreshold !== undefined) {
    throw new TandemError('InvalidArgument', 'negThreshold is NaN; leave it out or give a number from -1 to 1');
  }
  const doubles = Float64Array.from(probabilities);
  return engine.withCopies([doubles, values], (address, optionsAddress) => {
    const count = engine.call('tandem_segments', address, doubles.length, samples, sampleRate, optionsAddress);
    if (count < 0) throw engine.failure();
    const found = engine.view(Float64Array, engine.call('tandem_segments_data'), 2 * count);
    return Array.from({ length: count }, (_, i) => ({ start: found[2 * i], end: found[2 * i + 1] }));
  });
}

/** Start and end events while probabilities arrive, with the semantics of Silero's VADIterator. */
export class VadIterator {
  #engine;
  #handle;
  #place;

  constructor(engine, options) {
    engine.check();
    this.#engine = engine;
    const all = withDefaults(
      'createVadIterator()', options, { threshold: 0.5, minSilenceDurationMs: 100, speechPadMs: 30 }, ['sampleRate']);
    this.#handle = engine.call(
      'tandem_iterator_create',
      numberOf('sampleRate', all.sampleRate ?? 16000),
      numberOf('threshold', all.threshold),
      numberOf('minSilenceDurationMs', all.minSilenceDurationMs),
      numberOf('speechPadMs', all.speechPadMs),
    );
    if (!this.#handle) throw engine.failure();
    this.#place = engine.call('malloc', 8) >>> 0;
    engine.adopt(this);
  }

  #call(name, ...values) {
    if (!this.#handle) throw new TandemError('Destroyed', 'the iterator was destroyed; create a new one');
    return this.#engine.call('tandem_iterator_' + name, this.#handle, ...values);
  }

  /** null, or { type: 'start' or 'end', sample }. */
  add(probability) {
    const kind = this.#call('add', numberOf('probability', probability), this.#place);
    if (kind < 0) throw this.#engine.failure();
    if (kind === 0) return null;
    return { type: kind === 1 ? 'start' : 'end', sample: this.#engine.view(Float64Array, this.#place, 1)[0] };
  }

  /** Speech has begun and not ended yet. */
  get triggered() {
    return this.#call('triggered') === 1;
  }

  reset() {
    this.#call('reset');
  }

  destroy() {
    if (!this.#handle) return;
    if (this.#engine.isLive) {
      this.#call('destroy');
      this.#engine.call('free', this.#place);
    }
    this.#handle = 0;
    this.#engine.forget(this);
  }
}
