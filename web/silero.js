import { bytesOf } from './bytes.js';
import { TandemError, oneOf, optionsOf } from './errors.js';
import { now, profiled } from './profile.js';
import { checkFinite, checkSamples } from './samples.js';

const OPTIONS = ['weights', 'version', 'sampleRate', 'weightsDtype', 'isa', 'numerics', 'tune'];

/** What both kinds of detector are loaded from, by the engine's function `load`; `call` names it in errors. */
export async function loadSilero(engine, call, given, load) {
  const options = optionsOf(call, given, OPTIONS);
  const version = oneOf('version', options.version ?? 'v5', ['v5', 'v6']);
  const sampleRate = oneOf('sampleRate', options.sampleRate ?? 16000, [16000, 8000]);
  const dtype = oneOf('weightsDtype', options.weightsDtype ?? 'f32', ['f32', 'f16', 'bf16']);
  const mode = engine.modeOf(options);
  const isa = engine.isaOf(options);
  if (options.weights === undefined) {
    throw new TandemError(
      'InvalidArgument',
      `weights are missing; give the bytes or the URL of silero_vad_${version}.onnx (npm @ricky0123/vad-web, dist/)`,
    );
  }
  const bytes = await bytesOf(options.weights, `the weights of Silero VAD ${version}`);
  await engine.readTiles(options);
  engine.check();
  engine.stopWarmUp();
  const source = typeof options.weights === 'string' || options.weights instanceof URL ? String(options.weights) : '';
  const started = now();
  const handle = engine.withCopies([bytes, source || 'the given weights', dtype, isa], (address, origin, ...texts) =>
    engine.call(load, address, bytes.byteLength, origin, sampleRate, ...texts, mode));
  if (!handle) throw engine.failure();
  engine.keepTiles(options);
  return { handle, version, sampleRate, prepareMs: now() - started };
}

/** Voice activity detection on a stream of samples, 32 ms at a time. Made by engine.loadSileroVad(). */
export class SileroVad {
  #engine;
  #handle = 0;
  #address = 0;
  #window = null;
  #pending = 0;

  static async load(engine, options) {
    const { handle, version, sampleRate, prepareMs } =
      await loadSilero(engine, 'loadSileroVad()', options, 'tandem_silero_load');
    return new SileroVad(engine, handle, version, sampleRate, prepareMs);
  }

  /** Use engine.loadSileroVad(). */
  constructor(engine, handle, version, sampleRate, prepareMs) {
    this.#engine = engine;
    this.#handle = handle;
    engine.adopt(this);
    this.version = version;
    this.sampleRate = sampleRate;
    this.windowSamples = this.#call('window');
    this.#address = this.#call('samples') >>> 0;
    /** Milliseconds: all of preparing; of it scheduling, emitting the module, loading it, folding and packing weights. */
    this.timings = Object.freeze({
      prepareMs,
      scheduleMs: this.#call('statistic', 3),
      emitMs: this.#call('statistic', 0),
      loadMs: this.#call('statistic', 1),
      packMs: this.#call('statistic', 2),
    });
    this.moduleSize = this.#call('module_size');
  }

  #call(name, ...values) {
    if (!this.#handle) throw new TandemError('Destroyed', 'the detector was destroyed; load it again');
    return this.#engine.call('tandem_silero_' + name, this.#handle, ...values);
  }

  /** The engine's own buffer for one window. Its address stays; the view goes stale when the memory grows. */
  #samples() {
    if (this.#window?.buffer !== this.#engine.buffer) {
      this.#window = this.#engine.view(Float32Array, this.#address, this.windowSamples);
    }
    return this.#window;
  }

  #checkSamples(samples) {
    if (!this.#handle) throw new TandemError('Destroyed', 'the detector was destroyed; load it again');
    this.#engine.check();
    checkSamples(samples);
  }

  #run() {
    const probability = this.#call('step');
    if (probability < 0) throw this.#engine.failure();
    return probability;
  }

  /** The probability of speech in exactly one window: 512 samples at 16 kHz, 256 at 8 kHz. */
  step(samples) {
    this.#checkSamples(samples);
    const expected = this.windowSamples;
    if (samples.length !== expected) {
      throw new TandemError(
        'InvalidArgument',
        `step() got ${samples.length} samples; Silero VAD at ${this.sampleRate} Hz takes ${expected} at a time. ` +
          'process() takes any number',
        { expected, actual: samples.length },
      );
    }
    if (this.#pending > 0) {
      throw new TandemError(
        'InvalidArgument',
        `${this.#pending} samples of process() wait for the rest of their window; call flush() or reset() before step()`,
      );
    }
    this.#samples().set(samples);
    return this.#run();
  }

  /**
   * Takes any number of samples and returns one probability for each window that they complete. The rest waits for the
   * next call, or for flush().
   */
  process(samples) {
    this.#checkSamples(samples);
    checkFinite(samples);
    const probabilities = new Float32Array(Math.floor((this.#pending + samples.length) / this.windowSamples));
    this.#allOrNothing(probabilities.length, () => this.#take(samples, probabilities));
    return probabilities;
  }

  #take(samples, probabilities) {
    const size = this.windowSamples;
    for (let taken = 0, i = 0; taken < samples.length; ) {
      const count = Math.min(size - this.#pending, samples.length - taken);
      this.#samples().set(samples.subarray(taken, taken + count), this.#pending);
      taken += count;
      this.#pending += count;
      if (this.#pending < size) break;
      this.#pending = 0;
      probabilities[i++] = this.#run();
    }
  }

  /** A step that fails changes nothing; this does the same for several. */
  #allOrNothing(steps, action) {
    const pending = this.#pending;
    if (steps > 1 && !this.#call('save')) throw this.#engine.failure();
    try {
      action();
    } catch (error) {
      // Nothing else leaves an engine that can go back.
      if (error.code === 'NonFinite') {
        if (steps > 1) this.#call('go_back');
        this.#pending = pending;
      }
      throw error;
    }
  }

  /** Fills the window that process() left incomplete with zeros; returns its probability, or nothing if there is none. */
  flush() {
    this.#checkSamples(new Float32Array(0));
    if (this.#pending === 0) return new Float32Array(0);
    const probability = new Float32Array(1);
    this.#allOrNothing(1, () => {
      this.#samples().fill(0, this.#pending);
      this.#pending = 0;
      probability[0] = this.#run();
    });
    return probability;
  }

  /** Copies of the recurrent state, 128 numbers each. */
  state() {
    const h = this.#call('state', 0) >>> 0;
    const c = this.#call('state', 1) >>> 0;
    return { h: this.#engine.view(Float32Array, h, 128).slice(), c: this.#engine.view(Float32Array, c, 128).slice() };
  }

  /**
   * Runs the last window `repetitions` times (100), kernel by kernel, and returns the mean of each: { kernel, origin, flops,
   * bytes, seconds, share }. The stream stays where it is. They are put onto the page's timeline unless `marks` is false.
   */
  executeProfiled(options = {}) {
    return profiled(this.#engine, `Silero VAD ${this.version}`, options, (repetitions) =>
      this.#call('profile', repetitions));
  }

  /** Forgets the stream: the next sample is the first one. */
  reset() {
    this.#call('reset');
    this.#pending = 0;
  }

  /** The WebAssembly module that was emitted for the model. */
  moduleBytes() {
    return this.#engine.view(Uint8Array, this.#call('module'), this.moduleSize).slice();
  }

  destroy() {
    if (!this.#handle) return;
    if (this.#engine.isLive) this.#call('destroy');
    this.#handle = 0;
    this.#window = null;
    this.#engine.forget(this);
  }
}
