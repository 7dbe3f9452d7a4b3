import { TandemError, describe } from './errors.js';

/** Runs a prepared wrapper step by step and keeps its state, h and c, on the side of JavaScript. */
export class JitRecurrent {
  #jit;
  #head;
  #names;

  /** Use engine.recurrent(). */
  constructor(jit, { head, h = 'h', c = 'c' } = {}) {
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

  /** Hands the inputs and the state in, executes, keeps the new state and gives the head, which stands until the next step. */
  step(inputs = {}, values = {}) {
    const { h, c } = this.state;
    const all = this.#jit.step({ ...inputs, [this.#names.h]: h, [this.#names.c]: c }, values);
    if (all.length !== this.#head + h.length + c.length) this.#jit.checkRecurrent(this.#head, h.length, c.length);
    h.set(all.subarray(this.#head, this.#head + h.length));
    c.set(all.subarray(this.#head + h.length));
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
