import { TandemError } from './errors.js';
import { checkFinite, checkSamples } from './samples.js';
import { loadSilero } from './silero.js';

/** Voice activity detection of whole recordings. Made by engine.loadSileroOffline(). */
export class SileroOffline {
  #engine;
  #handle = 0;

  static async load(engine, options) {
    const { handle, version, sampleRate, prepareMs } =
      await loadSilero(engine, 'loadSileroOffline()', options, 'tandem_silero_offline_load');
    return new SileroOffline(engine, handle, version, sampleRate, prepareMs);
  }

  /** Use engine.loadSileroOffline(). */
  constructor(engine, handle, version, sampleRate, prepareMs) {
    this.#engine = engine;
    this.#handle = handle;
    engine.adopt(this);
    this.version = version;
    this.sampleRate = sampleRate;
    this.windowSamples = this.#call('window');
    /** Milliseconds that preparing took. */
    this.prepareMs = prepareMs;
  }

  #call(name, ...values) {
    if (!this.#handle) throw new TandemError('Destroyed', 'the detector was destroyed; load it again');
    return this.#engine.call('tandem_silero_offline_' + name, this.#handle, ...values);
  }

  /** One probability for each window of the recording, the last one filled up with zeros. */
  probabilities(samples) {
    if (!this.#handle) throw new TandemError('Destroyed', 'the detector was destroyed; load it again');
    this.#engine.check();
    checkSamples(samples);
    checkFinite(samples);
    const address = this.#call('samples', samples.length) >>> 0;
    if (!address) throw this.#engine.failure();
    this.#engine.view(Float32Array, address, samples.length).set(samples);
    const count = this.#call('run', samples.length);
    if (count < 0) throw this.#engine.failure();
    return this.#engine.view(Float32Array, this.#call('probabilities') >>> 0, count).slice();
  }

  destroy() {
    if (!this.#handle) return;
    if (this.#engine.isLive) this.#call('destroy');
    this.#handle = 0;
    this.#engine.forget(this);
  }
}
