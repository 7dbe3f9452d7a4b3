import { absolute, isAddress } from './bytes.js';
import { TandemError, describe, objectOf, withoutNulls } from './errors.js';

/** A relative URL means the same here and in the worker. */
function sent(source) {
  if (Array.isArray(source)) return source.map(sent);
  return isAddress(source) ? absolute(String(source)) : source;
}

/** The same interface as an Engine, every method a promise; the work is done in a worker. */
class WorkerEngine {
  #worker;
  #waiting = new Map();
  #lastId = 0;
  #ended = null;

  constructor(worker) {
    this.#worker = worker;
    worker.onmessage = ({ data: { id, progress, result, error } }) => {
      const waiting = this.#waiting.get(id);
      if (progress !== undefined) return this.#tell(waiting, progress);
      const { resolve, reject } = waiting;
      this.#waiting.delete(id);
      if (waiting.failure && result) this.call('destroyObject', result.number).catch(() => {});
      if (waiting.failure) reject(waiting.failure.error);
      else if (error) reject(new TandemError(error.code, error.message, error.details));
      else resolve(result);
    };
    worker.onerror = (event) => {
      event.preventDefault?.();
      const why = event.message || 'its script could not be loaded';
      this.#end(new TandemError('Broken', `the worker stopped (${why}); create a new engine`));
    };
  }

  /** What a page throws at its progress ends the loading for it, as without a worker. */
  #tell(waiting, progress) {
    if (waiting.failure) return;
    try {
      waiting.onProgress(progress);
    } catch (error) {
      waiting.failure = { error };
    }
  }

  #end(error) {
    this.#ended = error;
    this.#worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  call(operation, ...values) {
    return this.callWithProgress(undefined, operation, ...values);
  }

  callWithProgress(onProgress, operation, ...values) {
    if (this.#ended) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject, onProgress });
      try {
        this.#worker.postMessage({ id, operation, values });
      } catch (error) {
        this.#waiting.delete(id);
        reject(new TandemError('InvalidArgument', `an argument can't be sent to a worker (${error.message})`));
      }
    });
  }

  async loadSileroVad(given) {
    const options = objectOf('the options of loadSileroVad()', given);
    return new WorkerVad(this, await this.call('loadSileroVad', { ...options, weights: sent(options.weights) }));
  }
  async loadGigaAM(given) {
    const { onProgress, ...options } = withoutNulls(objectOf('the options of loadGigaAM()', given));
    if (onProgress !== undefined && typeof onProgress !== 'function') {
      throw new TandemError('InvalidArgument', `onProgress is ${describe(onProgress)}; it must be a function`);
    }
    const there = { ...options, reportsProgress: onProgress !== undefined };
    for (const name of ['weights', 'config', 'tokenizer']) if (name in options) there[name] = sent(options[name]);
    return new WorkerGigaAm(this, await this.callWithProgress(onProgress, 'loadGigaAM', there));
  }
  /** Build functions can't be sent to a worker. */
  async jit() {
    throw new TandemError(
      'Unsupported',
      "jit() can't reach a worker, since functions can't be sent there; call createEngine() in a module worker of your own",
    );
  }
  async compileGraph(text, options) {
    return new WorkerGraph(this, await this.call('compileGraph', text, options));
  }
  speechTimestamps(probabilities, options) {
    return this.call('speechTimestamps', probabilities, options);
  }
  counters() {
    return this.call('counters');
  }
  async destroy() {
    if (this.#ended) return;
    await this.call('destroy');
    this.#end(new TandemError('Destroyed', 'the engine was destroyed; create a new one'));
  }
}

const CALL = Symbol('call');

/** An object that lives in the worker, known there by its number. */
class WorkerObject {
  #engine;
  #number;

  constructor(engine, { number, ...facts }) {
    this.#engine = engine;
    this.#number = number;
    Object.assign(this, facts);
  }

  [CALL](method, ...values) {
    return this.#engine.call(method, this.#number, ...values);
  }
  destroy() {
    return this[CALL]('destroyObject');
  }
}

class WorkerVad extends WorkerObject {
  step(samples) {
    return this[CALL]('step', samples);
  }
  process(samples) {
    return this[CALL]('process', samples);
  }
  flush() {
    return this[CALL]('flush');
  }
  state() {
    return this[CALL]('state');
  }
  reset() {
    return this[CALL]('reset');
  }
  executeProfiled(options) {
    return this[CALL]('executeProfiled', options);
  }
}

class WorkerGigaAm extends WorkerObject {
  executeProfiled(samples, options) {
    return this[CALL]('executeProfiled', samples, options);
  }
  transcribe(samples) {
    return this[CALL]('transcribe', samples);
  }
  logMel(samples) {
    return this[CALL]('logMel', samples);
  }
  recognizeMel(mel, lengths) {
    return this[CALL]('recognizeMel', mel, lengths);
  }
}

class WorkerGraph extends WorkerObject {
  run(inputs, variables) {
    return this[CALL]('run', inputs, variables);
  }
  executeProfiled(inputs, variables, options) {
    return this[CALL]('profileGraph', inputs, variables, options);
  }
  moduleBytes() {
    return this[CALL]('moduleBytes');
  }
}

/** Loads the engine in a module worker. `workerUrl` is for bundlers that move worker.js. */
export async function createWorkerEngine(given) {
  const { workerUrl, ...rest } = withoutNulls(objectOf('the options of createWorkerEngine()', given));
  const worker = workerUrl === undefined
    ? new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })
    : new Worker(workerUrl, { type: 'module' });
  for (const name of ['wasmUrl', 'baseUrl']) {
    if (rest[name] !== undefined) rest[name] = new URL(String(rest[name]), import.meta.url).href;
  }
  const engine = new WorkerEngine(worker);
  try {
    engine.capabilities = await engine.call('createEngine', rest);
  } catch (error) {
    worker.terminate();
    throw error;
  }
  return engine;
}
