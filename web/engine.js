import createModule from './tandem.js';
import { buildFor } from './build.js';
import { wasmOf } from './bytes.js';
import { TandemError, describe, flagOf, numberOf, oneOf, optionsOf } from './errors.js';
import { GigaAm } from './gigaam.js';
import { CompiledGraph } from './graph.js';
import { Jit } from './jit.js';
import { JitRecurrent } from './recurrent.js';
import { VadIterator, speechTimestamps } from './segmentation.js';
import { SileroVad } from './silero.js';
import { SileroOffline } from './silero_offline.js';
import { Operations } from './tensor.js';
import { Tiles } from './tiles.js';
import { Weights } from './weights.js';

const PAGE = 65536;
const INITIAL_PAGES = 256;
const MAXIMUM_PAGES = 65536;

/** 4 GiB of addresses, or as much as this host reserves. */
function makeMemory(maximumMemory) {
  let maximum = MAXIMUM_PAGES;
  if (maximumMemory !== undefined) {
    maximum = Math.min(MAXIMUM_PAGES, Math.floor(numberOf('maximumMemory', maximumMemory) / PAGE));
    if (!(maximum >= INITIAL_PAGES)) {
      throw new TandemError(
        'InvalidArgument',
        `maximumMemory is ${maximumMemory} bytes; the engine needs at least ${INITIAL_PAGES * PAGE}`,
      );
    }
  }
  for (;;) {
    try {
      return { memory: new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum }), maximum };
    } catch (error) {
      if (maximum <= INITIAL_PAGES) throw new TandemError('Device', `no memory for the engine: ${error.message}`);
      maximum = Math.max(INITIAL_PAGES, maximum >> 1);
    }
  }
}

/** Runs Emscripten's glue on bytes that are here already, so that it never fetches anything itself. */
function instantiate(source, memory) {
  return new Promise((resolve, reject) => {
    createModule({
      wasmMemory: memory,
      instantiateWasm(imports, done) {
        const ready =
          source instanceof WebAssembly.Module
            ? WebAssembly.instantiate(source, imports).then((instance) => ({ instance, module: source }))
            : WebAssembly.instantiate(source, imports);
        ready.then(({ instance, module }) => {
          instantiate.module = module;
          done(instance, module);
        }, reject);
        return {};
      },
    }).then(resolve, reject);
  });
}

/** Runs it when nothing else waits; a process does not wait for it. */
function afterOthers(work) {
  if (typeof globalThis.scheduler?.postTask === 'function') {
    globalThis.scheduler.postTask(work, { priority: 'background' }).catch(() => {});
  } else {
    setTimeout(work, 0)?.unref?.();
  }
}

export class Engine {
  #module;
  #maximumPages;
  #numerics;
  #isa;
  #tune;
  #tiles;
  #state = 'live';
  #whyBroken = '';
  #objects = new Set();
  #encoder = null;
  #operations = null;
  #isWarm = false;

  /** Use createEngine(). */
  constructor(module, maximumPages, options) {
    this.#module = module;
    this.#maximumPages = maximumPages;
    this.#numerics = oneOf('numerics', options.numerics ?? 'fast', ['fast', 'reproducible']);
    this.#isa = options.isa ?? '';
    this.#tune = flagOf('tune', options.tune ?? false);
    this.#tiles = new Tiles(this, options.tileStore);
    this.call('tandem_start', maximumPages * PAGE);
    const isa = this.text(this.call('tandem_isa'));
    if (this.#isa) oneOf('isa', this.#isa, ['wasm-simd128', 'wasm-relaxed']);
    if (this.#isa === 'wasm-relaxed' && isa !== 'wasm-relaxed') {
      throw new TandemError('Device', 'isa is wasm-relaxed, which this host does not have; use wasm-simd128');
    }
    /** What this host can do, and what plans are made for. */
    this.capabilities = Object.freeze({
      isa: this.#isa || isa,
      hostIsa: isa,
      relaxedSimd: isa === 'wasm-relaxed',
      numerics: this.#numerics,
      maximumMemory: maximumPages * PAGE,
    });
  }

  /** Silero VAD v5 or v6 from the bytes of its ONNX file or of a safetensors file. */
  loadSileroVad(options) {
    this.check();
    return SileroVad.load(this, options);
  }

  /** The same for whole recordings, in less time. */
  loadSileroOffline(options) {
    this.check();
    return SileroOffline.load(this, options);
  }

  /** GigaAM, a speech recogniser, for clips of up to 30 seconds. */
  loadGigaAM(options) {
    this.check();
    return GigaAm.load(this, options);
  }

  /** A graph from its text: see core/graph/text.h. */
  compileGraph(text, options) {
    this.check();
    return new CompiledGraph(this, text, options);
  }

  /** A wrapper: a graph that is declared here, prepared once and executed often. See jit.d.ts. */
  jit(declaration) {
    this.check();
    return new Jit(this, declaration);
  }

  /** A prepared wrapper that keeps the state of a recurrent model on this side. */
  recurrent(jit, options) {
    this.check();
    return new JitRecurrent(jit, options);
  }

  /** The tensors of an ONNX or safetensors file, for build functions. */
  weights(source) {
    this.check();
    return Weights.load(this, source);
  }

  /** Segments of a finished recording from one probability per window. */
  speechTimestamps(probabilities, options) {
    return speechTimestamps(this, probabilities, options);
  }

  /** Events while probabilities arrive. */
  createVadIterator(options) {
    return new VadIterator(this, options);
  }

  /** What the engine holds at present. */
  counters() {
    this.check();
    return {
      objects: this.#objects.size,
      modules: this.call('tandem_loaded_modules'),
      tableSlots: this.#module.tandemModules.instances.length,
      memoryBytes: this.#module.HEAPU8.length,
      allocatedBytes: this.call('tandem_allocated_bytes'),
    };
  }

  /**
   * Makes small plans, one at a time, until the page prepares one of its own: the browser has compiled the engine then.
   * They use time in which the page has nothing to do, such as the download of the weights.
   */
  warmUp(number = 0) {
    afterOthers(() => {
      if (this.#isWarm || this.#state !== 'live') return;
      const reproducible = this.#numerics === 'reproducible' ? 1 : 0;
      const goesOn = this.withCopies([this.#isa], (isa) => this.call('tandem_warm_up', number, isa, reproducible));
      if (goesOn === 1) this.warmUp(number + 1);
    });
  }

  /** A plan is made: from now on warming up would only take its time. */
  stopWarmUp() {
    this.#isWarm = true;
  }

  /** Gives everything back. Every later call, on the engine or on what it made, is a Destroyed error. */
  destroy() {
    if (this.#state === 'live') for (const object of [...this.#objects]) object.destroy();
    this.#objects.clear();
    this.#state = 'destroyed';
    this.#module = null;
  }

  // What follows is for the other files of this package.

  check() {
    if (this.#state === 'live') return;
    if (this.#state === 'destroyed') throw new TandemError('Destroyed', 'the engine was destroyed; create a new one');
    throw new TandemError('Broken', `the engine stopped working (${this.#whyBroken}); create a new one`);
  }

  get isLive() {
    return this.#state === 'live';
  }

  /** Calls into the engine. A trap there leaves it in an unknown state: no later call may enter. */
  call(name, ...values) {
    this.check();
    try {
      return this.#module['_' + name](...values);
    } catch (error) {
      this.breakDown(`${error.name}: ${error.message}`);
      throw this.failure();
    }
  }

  breakDown(why) {
    this.#state = 'broken';
    this.#whyBroken = why;
  }

  /** The tensor operations, and which build functions run. */
  get operations() {
    if (!this.#operations) {
      this.#operations = new Operations(this);
      this.#module.tandemBuild = buildFor(this);
    }
    return this.#operations;
  }

  /** The error that the last failed call left; `more` goes into its details. */
  failure(more = {}) {
    if (this.#state === 'broken') {
      return new TandemError('Broken', `the engine stopped working (${this.#whyBroken}); create a new one`);
    }
    const code = this.text(this.call('tandem_failure_code'));
    const message = this.text(this.call('tandem_failure_message'));
    const index = this.call('tandem_failure_index');
    if (code === 'Broken') {
      this.breakDown(message);
      return this.failure();
    }
    return new TandemError(code, message, Number.isNaN(index) ? more : { ...more, index });
  }

  /** A view that is right until the memory grows: make it anew after every call that may allocate. */
  view(Type, address, length) {
    return new Type(this.#module.HEAPU8.buffer, address >>> 0, length);
  }

  get buffer() {
    return this.#module.HEAPU8.buffer;
  }

  text(address) {
    const bytes = this.#module.HEAPU8;
    let end = address >>> 0;
    while (bytes[end] !== 0) end++;
    // The polyfill-free way for places without TextDecoder, such as an AudioWorklet: texts are mostly ASCII.
    const part = bytes.slice(address >>> 0, end);
    if (typeof TextDecoder !== 'undefined') return new TextDecoder().decode(part);
    return decodeURIComponent(Array.from(part, (byte) => '%' + byte.toString(16).padStart(2, '0')).join(''));
  }

  encode(string) {
    if (typeof TextEncoder !== 'undefined') return (this.#encoder ??= new TextEncoder()).encode(string);
    const escaped = unescape(encodeURIComponent(string));
    return Uint8Array.from(escaped, (character) => character.charCodeAt(0));
  }

  /** Room for bytes; the address. */
  reserve(size) {
    // 32 bits are what malloc takes: more would be little again.
    const address = size < 2 ** 32 - PAGE ? this.call('malloc', size) >>> 0 : 0;
    if (address !== 0) return address;
    throw new TandemError(
      'Device', `no memory for ${size} bytes; the engine may use ${this.#maximumPages * PAGE} (maximumMemory)`);
  }

  /** Copies bytes in, for a function that takes them over; the address. */
  give(bytes, more = 0) {
    const address = this.reserve(bytes.byteLength + more);
    this.view(Uint8Array, address, bytes.byteLength).set(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return address;
  }

  /** Copies bytes and zero-terminated strings in, calls the function with their addresses and takes them out again. */
  withCopies(values, use) {
    const addresses = [];
    try {
      for (const value of values) {
        const bytes = typeof value === 'string' ? this.encode(value) : value;
        const address = this.give(bytes, 1);
        addresses.push(address);
        this.view(Uint8Array, address + bytes.byteLength, 1)[0] = 0;
      }
      return use(...addresses);
    } finally {
      if (this.isLive) for (const address of addresses) this.call('free', address);
    }
  }

  adopt(object) {
    this.#objects.add(object);
  }

  forget(object) {
    this.#objects.delete(object);
  }

  numericsOf(options) {
    return oneOf('numerics', options.numerics ?? this.#numerics, ['fast', 'reproducible']) === 'reproducible' ? 1 : 0;
  }

  /** How a plan is made, as a number: what numericsOf gives, and 2 when it is tuned. */
  modeOf(options) {
    return this.numericsOf(options) + (this.#tunes(options) ? 2 : 0);
  }

  #tunes(options) {
    return flagOf('tune', options.tune ?? this.#tune);
  }

  /** For a plan that is tuned: the tiles that were kept are known afterwards. */
  async readTiles(options) {
    if (this.#tunes(options)) await this.#tiles.read();
  }

  /** A plan was made: what tuning found for it is kept. */
  keepTiles(options) {
    if (this.#tunes(options)) this.#tiles.keep();
  }

  isaOf(options) {
    const isa = options.isa ?? this.#isa;
    return isa === '' ? '' : oneOf('isa', isa, ['wasm-simd128', 'wasm-relaxed']);
  }
}

const OPTIONS = ['baseUrl', 'wasmUrl', 'wasmBinary', 'wasmModule', 'maximumMemory', 'isa', 'numerics', 'tune',
  'tileStore', 'warmUp'];

/** Loads the engine. See index.d.ts for the options. */
export async function createEngine(given) {
  const options = optionsOf('createEngine()', given, OPTIONS);
  if (typeof WebAssembly !== 'object') {
    throw new TandemError('Unsupported', 'this host has no WebAssembly; it may be switched off for safety');
  }
  let source = options.wasmModule;
  if (source !== undefined && !(source instanceof WebAssembly.Module)) {
    throw new TandemError('InvalidArgument', `wasmModule is ${describe(source)}; it must be a WebAssembly.Module`);
  }
  if (!source) {
    const base = options.baseUrl === undefined ? import.meta.url : new URL(options.baseUrl, import.meta.url).href;
    const url = options.baseUrl === undefined
      ? new URL('./tandem.wasm', import.meta.url)
      : new URL('tandem.wasm', base.endsWith('/') ? base : base + '/');
    source = await wasmOf(options.wasmBinary ?? options.wasmUrl ?? url, 'the engine');
  }
  const { memory, maximum } = makeMemory(options.maximumMemory);
  let module;
  try {
    module = await instantiate(source, memory);
  } catch (error) {
    throw new TandemError(
      'Load',
      `the engine could not be started (${error.name}: ${error.message}); it needs WebAssembly SIMD and, under a ` +
        `content security policy, 'wasm-unsafe-eval' in script-src`,
    );
  }
  const engine = new Engine(module, maximum, options);
  await engine.readTiles(options);
  if (options.warmUp !== false) engine.warmUp();
  return engine;
}
