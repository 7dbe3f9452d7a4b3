import { TandemError, describe, optionsOf } from './errors.js';

/** Runs a prepared wrapper step by step and keeps its state, h and c, on the side of JavaScript. */
export class JitRecurrent {
  #jit;
  #head;
  #names;

  /** Use engine.recurrent(). */
  constructor(jit, options) {
    const { head, h = 'h', c = 'c' } = optionsOf('recurrent()', options, ['head', 'h', 'c']);
    if (!Number.isSafeInteger(head) || head < 0) {
      throw new TandemError('InvalidArgument', `head is ${describe(head)}; it must be the number of the result's elements`);
    }
    this.#jit = jit;
    this.#head = head;
    this.#names = { h, c };
    /** The state, which may be written. */
    this.state = { h: new Float32Array(jit.input(h).size), c: new Float32Array(jit.input(c).size) };
    jit.checkRecurrent(head, this.state.h.length, this.state.c.length);
  }

  /**
   * Hands the inputs and the state in, executes, keeps the new state and gives the head, which stands until the next step.
   * After an error the state is as before; a new state that is not finite is one (NonFinite).
   */
  step(inputs = {}, values = {}) {
    const { h, c } = this.state;
    const all = this.#jit.step({ ...inputs, [this.#names.h]: h, [this.#names.c]: c }, values);
    if (all.length !== this.#head + h.length + c.length) this.#jit.checkRecurrent(this.#head, h.length, c.length);
    const state = all.subarray(this.#head);
    const wrong = state.findIndex((value) => !Number.isFinite(value));
    if (wrong >= 0) {
      const [name, place] = wrong < h.length ? ['h', wrong] : ['c', wrong - h.length];
      throw new TandemError(
        'NonFinite', `element ${place} of the new ${name} is ${state[wrong]}, which would spoil all later steps; the state ` +
          'stays as it was', { index: place });
    }
    h.set(state.subarray(0, h.length));
    c.set(state.subarray(h.length));
    return all.subarray(0, this.#head);
  }

  reset() {
    this.state.h.fill(0);
    this.state.c.fill(0);
  }

  get jit() {
    return this.#jit;
  }
}
