import type { JitEngine } from './jit.js';

export * from './jit.js';

// An option that is null, or undefined, is one that is not given.

/** Bytes, a URL, or in Node.js also a file path. */
export type ByteSource = ArrayBuffer | ArrayBufferView | URL | string;

/** "fast": relaxed SIMD where the host has it. "reproducible": the same bits as every other target. */
export type Numerics = 'fast' | 'reproducible';
/** Instruction set that kernels are made for. Default: the best of the host. */
export type InstructionSet = 'wasm-simd128' | 'wasm-relaxed';

/** Every error of this package. The code is stable, the text is not. */
export class TandemError extends Error {
  /**
   * InvalidArgument, NonFinite (with index), InvalidFormat, NotFound, DtypeMismatch, Unsupported, MemoryLimit, Device,
   * Variable, Tensor, ViewOutOfBounds, InputBufferNotFound, DuplicateInputBuffer, NotPrepared, OutputLayoutMismatch,
   * Build (with cause: what the build function threw), Runtime; Load (with url, status): something could not be
   * fetched or started; Destroyed: used after destroy(); Broken: the engine stopped working, create a new one.
   */
  readonly code: string;
  readonly details: Record<string, unknown>;
  readonly index?: number;
  readonly expected?: number | string;
  readonly actual?: number | string;
  /** What the error is about, where there is one. */
  readonly variable?: string;
  readonly input?: string;
  readonly state?: string;
  readonly output?: string;
  readonly url?: string;
  readonly status?: number;
}

export interface EngineOptions {
  /** Folder of tandem.wasm; default: that of this module. */
  baseUrl?: string | URL | null;
  /** Address (in Node.js also path) of tandem.wasm. */
  wasmUrl?: string | URL | null;
  /** The bytes of tandem.wasm; nothing is fetched then. */
  wasmBinary?: ArrayBuffer | ArrayBufferView | null;
  /** tandem.wasm, compiled. */
  wasmModule?: WebAssembly.Module | null;
  /** Bytes that the engine may use; default 4 GiB, of which only what is needed is taken. */
  maximumMemory?: number | null;
  isa?: InstructionSet | null;
  /** Default "fast". */
  numerics?: Numerics | null;
  /**
   * Plans are made with the register tiles that are fastest in this browser: preparing measures them, once, and
   * `tileStore` keeps them. Reproducible results have the same bits either way. Default false.
   */
  tune?: boolean | null;
  /** Default: the Cache API, where there is one; else tiles are kept as long as the engine. */
  tileStore?: TileStore | null;
  /**
   * Lets the browser compile the engine before the first plan is prepared, by small plans that are made while the page has
   * nothing to do; default true.
   */
  warmUp?: boolean | null;
}

/** Where a text with tiles is kept for the next engine. An error in it is as if nothing had been kept. */
export interface TileStore {
  read(): string | null | undefined | Promise<string | null | undefined>;
  write(text: string): void | Promise<void>;
}

export interface SileroVadOptions {
  /** silero_vad_v5.onnx or silero_vad_v6.onnx (npm @ricky0123/vad-web, folder dist), or a safetensors file of them. */
  weights: ByteSource;
  /** For messages; default "v5". What is computed depends on the weights alone. */
  version?: 'v5' | 'v6' | null;
  /** Default 16000. */
  sampleRate?: 16000 | 8000 | null;
  /**
   * What the plan keeps the matrices as that need not be exact: f16 and bf16 take half of their memory, and round
   * probabilities (core/models/README.md says how much); default "f32".
   */
  weightsDtype?: 'f32' | 'f16' | 'bf16' | null;
  isa?: InstructionSet | null;
  numerics?: Numerics | null;
  /** Default that of the engine. */
  tune?: boolean | null;
}

export interface Timings {
  readonly prepareMs: number;
  readonly scheduleMs: number;
  readonly emitMs: number;
  readonly loadMs: number;
  readonly packMs: number;
}

/** One call of a kernel, the mean of some runs. */
export interface KernelProfile {
  /** Its name. */
  readonly kernel: string;
  /** Where in the model it comes from. */
  readonly origin: string;
  /** Floating-point operations, and bytes read and written, at the values of the variables. */
  readonly flops: number;
  readonly bytes: number;
  readonly seconds: number;
  /** Of all kernels' time, 0 to 1. */
  readonly share: number;
}
export interface ProfileOptions {
  /** How often it runs; default 100 (GigaAM: 1). Clocks of pages tick every 0.1 ms, so that a short kernel needs many. */
  repetitions?: number | null;
  /** Puts the kernels onto the timeline (performance.measure), where DevTools shows a track "tandem"; default true. */
  marks?: boolean | null;
}

/**
 * One stream of samples from -1 to 1. A call that throws changes nothing: NonFinite with the index of a sample that is
 * NaN or infinite, or without one for samples so large that the network overflows.
 */
export interface SileroVad {
  readonly version: string;
  readonly sampleRate: number;
  /** 512 at 16 kHz, 256 at 8 kHz: 32 ms. */
  readonly windowSamples: number;
  readonly timings: Timings;
  /** Bytes of the emitted module. */
  readonly moduleSize: number;
  /** Probability of speech in one window of exactly windowSamples. */
  step(samples: Float32Array): number;
  /** One probability per window that these samples complete; the rest waits. */
  process(samples: Float32Array): Float32Array;
  /** Completes the last window with zeros. */
  flush(): Float32Array;
  state(): { h: Float32Array; c: Float32Array };
  /** Times of the kernels of one window; the stream stays where it is. */
  executeProfiled(options?: ProfileOptions): KernelProfile[];
  reset(): void;
  moduleBytes(): Uint8Array;
  destroy(): void;
}

/** Whole recordings: the probabilities of a SileroVad, within 1e-5, in less time. A call that throws changes nothing. */
export interface SileroOffline {
  readonly version: string;
  readonly sampleRate: number;
  /** 512 at 16 kHz, 256 at 8 kHz: 32 ms. */
  readonly windowSamples: number;
  /** Milliseconds that preparing took. */
  readonly prepareMs: number;
  /**
   * Probability of speech in every window of a recording from -1 to 1, the last one filled up with zeros. The recording is
   * copied into the engine's memory.
   */
  probabilities(samples: Float32Array): Float32Array;
  destroy(): void;
}

/** JSON of a GigaAM configuration: `preprocessor`, `encoder`, `head`, `labels`; see demo/gigaam. */
export type GigaAmConfiguration = { readonly [name: string]: unknown };
export interface LoadProgress {
  /** "weights" while their files are read, then "prepare" once. */
  phase: 'weights' | 'prepare';
  /** Bytes of all files that are here, and of all where servers say how many there are. */
  loaded?: number;
  total?: number;
}
export interface GigaAmOptions {
  /**
   * model.safetensors, or the URL or path of its index (.json), whose files lie beside it, or an array of all files. They go
   * into the engine's memory piece by piece; bytes that are given are copied.
   */
  weights: ByteSource | readonly ByteSource[];
  /** An object, or config.json. Default: that in the metadata of the weights, or config.json beside them. */
  config?: GigaAmConfiguration | ByteSource | null;
  /** Texts of the classes but the last one, the blank. Default: `labels` of the configuration. */
  vocabulary?: readonly string[] | null;
  /** A SentencePiece model. Default, for configurations without `labels`: tokenizer.model beside the weights. */
  tokenizer?: ByteSource | null;
  /** What the model must have; default: what it has. */
  head?: 'ctc' | 'rnnt' | null;
  /**
   * What the plan keeps the matrices as; default: as the weights have them. f16 takes half of the memory of f32, and longer,
   * since WebAssembly has no instruction for it. The engine holds the files beside the plan: 1.9 GB for 0.9 GB of f32.
   */
  weightsDtype?: 'f32' | 'f16' | 'bf16' | 'i8' | null;
  /**
   * What products read of values that a step computes, and what these are stored as between kernels; default: f32. bf16
   * rounds them as the model on a desktop with bf16 dot products does; here it saves no memory.
   */
  activations?: 'f32' | 'bf16' | null;
  /** Longest clip, 1 to 30 seconds (default): memory follows it. */
  maxSeconds?: number | null;
  /** Lanes of recognizeMel(), 1 (default) to 64. */
  lanes?: number | null;
  /** CTC: width of a prefix beam search in transcribe(); default 0: the most probable class of each frame. */
  beamWidth?: number | null;
  isa?: InstructionSet | null;
  numerics?: Numerics | null;
  /** Default that of the engine. */
  tune?: boolean | null;
  onProgress?: ((progress: LoadProgress) => void) | null;
}
/** A text and when it was said, in seconds. */
export interface TimedText {
  text: string;
  start: number;
  end: number;
}
export interface Transcript {
  /** Without spaces at its ends; "" for a clip that is too short for a frame. */
  text: string;
  /** Their texts, one after the other, are the whole. A token lasts for the frame that decided for it, 40 ms. */
  tokens: (TimedText & { id: number })[];
  /** What stands between spaces. */
  words: TimedText[];
}
/** Row-major; rows from a lane's length on mean nothing. */
export interface RecognizedMel {
  /** Encoder frames of the batch. */
  frames: number;
  /** [lanes, frames, width] */
  encoded: Float32Array;
  width: number;
  /** [lanes, frames, scoreWidth]: log-probabilities (CTC), or the share of the encoder in the joint network (RN-T). */
  scores: Float32Array;
  scoreWidth: number;
  encodedLengths: Int32Array;
  /** Per lane, greedy: classes, and the encoder frame where each begins. */
  sequences: { tokens: Int32Array; frames: Int32Array }[];
}
/**
 * GigaAM: short clips of speech to text. A call that throws leaves it as it was: InvalidArgument (expected, actual) for a clip
 * that is too long, NonFinite (index) for samples that are NaN or infinite.
 */
export interface GigaAm {
  readonly head: 'ctc' | 'rnnt';
  /** Hz of the samples: 16000. */
  readonly sampleRate: number;
  /** Most samples of a clip. */
  readonly maxSamples: number;
  /** From one encoder frame to the next. */
  readonly samplesPerFrame: number;
  /** Mel bands. */
  readonly features: number;
  /** The blank is the last one. */
  readonly classes: number;
  readonly lanes: number;
  readonly timings: { readonly loadMs: number; readonly prepareMs: number };
  /** What is said in one clip of samples from -1 to 1. */
  transcribe(samples: Float32Array): Transcript;
  /** The front end alone: `data` is [features, frames], as recognizeMel() takes it. */
  logMel(samples: Float32Array): { features: number; frames: number; data: Float32Array };
  /**
   * Times of the kernels of the encoder and its head on a clip, without the front end and the rest of the decoder. A clip
   * takes long: `repetitions` are 1 unless given.
   */
  executeProfiled(samples: Float32Array, options?: ProfileOptions): KernelProfile[];
  /** A batch of log-mel [lanes, features, t], and how many frames each lane has: for decoders of your own. */
  recognizeMel(mel: Float32Array, lengths: Int32Array): RecognizedMel;
  destroy(): void;
}

export interface SegmentationOptions {
  /** 8000, 16000 (default) or a multiple of 16000. */
  sampleRate?: number | null;
  /** Length of the recording; default: all windows are full. */
  samples?: number | null;
  threshold?: number | null;
  negThreshold?: number | null;
  minSpeechDurationMs?: number | null;
  maxSpeechDurationS?: number | null;
  minSilenceDurationMs?: number | null;
  speechPadMs?: number | null;
  minSilenceAtMaxSpeechMs?: number | null;
  useLongestSilenceAtMaxSpeech?: boolean | null;
  /** Positions in seconds, with timeResolution decimals, instead of samples. */
  returnSeconds?: boolean | null;
  /** 0 to 15; default 1. */
  timeResolution?: number | null;
}
export interface Segment {
  start: number;
  end: number;
}

export interface VadIteratorOptions {
  sampleRate?: 16000 | 8000 | null;
  threshold?: number | null;
  minSilenceDurationMs?: number | null;
  speechPadMs?: number | null;
}
export interface VadIterator {
  add(probability: number): { type: 'start' | 'end'; sample: number } | null;
  readonly triggered: boolean;
  reset(): void;
  destroy(): void;
}

export type TypedArray =
  | Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array
  | BigUint64Array | BigInt64Array | Float32Array | Float64Array;
export interface GraphPort {
  name: string;
  dtype: string;
  shape: number[];
}
export interface CompiledGraph {
  readonly inputs: GraphPort[];
  readonly outputs: GraphPort[];
  readonly variables: string[];
  run(
    inputs?: ArrayBufferView[] | Record<string, ArrayBufferView>,
    variables?: Record<string, number>,
  ): (GraphPort & { data: TypedArray })[];
  /** Times of the kernels. */
  executeProfiled(
    inputs?: ArrayBufferView[] | Record<string, ArrayBufferView>,
    variables?: Record<string, number>,
    options?: ProfileOptions,
  ): KernelProfile[];
  moduleBytes(): Uint8Array;
  destroy(): void;
}

export interface Capabilities {
  readonly isa: InstructionSet;
  readonly hostIsa: InstructionSet;
  readonly relaxedSimd: boolean;
  readonly numerics: Numerics;
  readonly maximumMemory: number;
}
export interface Counters {
  /** Detectors, recognisers, graphs, wrappers and iterators that are not destroyed. */
  objects: number;
  /** Emitted modules that are loaded. */
  modules: number;
  /** Places for them; used again after destroy(). */
  tableSlots: number;
  memoryBytes: number;
  allocatedBytes: number;
}

export interface Engine extends JitEngine {
  readonly capabilities: Capabilities;
  loadSileroVad(options: SileroVadOptions): Promise<SileroVad>;
  loadSileroOffline(options: SileroVadOptions): Promise<SileroOffline>;
  loadGigaAM(options: GigaAmOptions): Promise<GigaAm>;
  compileGraph(
    text: string,
    options?: {
      constants?: Record<string, ArrayBufferView> | null;
      isa?: InstructionSet | null;
      numerics?: Numerics | null;
    },
  ): CompiledGraph;
  speechTimestamps(probabilities: ArrayLike<number>, options?: SegmentationOptions): Segment[];
  createVadIterator(options?: VadIteratorOptions): VadIterator;
  counters(): Counters;
  destroy(): void;
}
export function createEngine(options?: EngineOptions): Promise<Engine>;

type Remote<T> = T extends (...values: infer V) => infer R ? (...values: V) => Promise<Awaited<R>> : T;
export type WorkerVad = { [K in Exclude<keyof SileroVad, 'moduleBytes'>]: Remote<SileroVad[K]> };
export type WorkerGigaAm = { [K in keyof GigaAm]: Remote<GigaAm[K]> };
export type WorkerGraph = { [K in keyof CompiledGraph]: Remote<CompiledGraph[K]> };
export interface WorkerEngine {
  readonly capabilities: Capabilities;
  /** Unsupported: functions can't be sent to a worker. Call createEngine() in a module worker of your own. */
  jit(): Promise<never>;
  loadSileroVad(options: SileroVadOptions): Promise<WorkerVad>;
  loadGigaAM(options: GigaAmOptions): Promise<WorkerGigaAm>;
  compileGraph(...values: Parameters<Engine['compileGraph']>): Promise<WorkerGraph>;
  speechTimestamps(probabilities: ArrayLike<number>, options?: SegmentationOptions): Promise<Segment[]>;
  counters(): Promise<Counters>;
  destroy(): Promise<void>;
}
/** The same in a module worker. `workerUrl`: worker.js, where a bundler has moved it. */
export function createWorkerEngine(options?: Omit<EngineOptions, 'tileStore'> & { workerUrl?: string | URL | null }): Promise<WorkerEngine>;
