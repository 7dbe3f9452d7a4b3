import { bytesOf } from './bytes.js';
import { TandemError } from './errors.js';
import { Tensor } from './tensor.js';

/** The tensors of an ONNX or safetensors file, as constants for build functions. */
export class Weights {
  #engine;
  #handle;
  #tensors = new Map();

  /** Use engine.weights(). */
  static async load(engine, source) {
    const bytes = await bytesOf(source, 'the weights');
    engine.check();
    const origin = typeof source === 'string' || source instanceof URL ? String(source) : 'the given weights';
    const handle = engine.withCopies([origin], (address) =>
      engine.call('tandem_weights_read', engine.give(bytes), bytes.byteLength, address));
    if (!handle) throw engine.failure();
    return new Weights(engine, handle);
  }

  constructor(engine, handle) {
    this.#engine = engine;
    this.#handle = handle;
    engine.adopt(this);
    /** Names of the tensors, in the order of the file. */
    this.names = Object.freeze(engine.text(engine.call('tandem_weights_names', handle)).split('\n').slice(0, -1));
  }

  has(name) {
    return this.names.includes(name);
  }

  /** A tensor for use in build functions, shared and never copied. NotFound lists what is there. */
  tensor(name) {
    if (!this.#handle) throw new TandemError('Destroyed', 'the weights were destroyed; load them again');
    const known = this.#tensors.get(name);
    if (known) return known;
    const engine = this.#engine;
    const found = engine.withCopies([String(name)], (address) =>
      engine.call('tandem_weights_tensor', this.#handle, address));
    if (!found) throw engine.failure({ weight: name });
    const tensor = Tensor.read(engine, 0, engine.text(found));
    this.#tensors.set(name, tensor);
    return tensor;
  }

  /** Prepared wrappers keep what they need of it. */
  destroy() {
    if (!this.#handle) return;
    if (this.#engine.isLive) this.#engine.call('tandem_weights_destroy', this.#handle);
    this.#handle = 0;
    this.#tensors.clear();
    this.#engine.forget(this);
  }
}
