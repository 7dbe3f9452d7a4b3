import * as ort from '/ort/ort.wasm.min.mjs';
import { createEngine } from '/tandem/index.js';
import { measure } from '/bench/measure.mjs';

ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = '/ort/';
ort.env.logLevel = 'error';

window.measure = async (options) => {
  const weights = new Uint8Array(await (await fetch('/weights/silero_vad_v5.onnx')).arrayBuffer());
  return measure({ createEngine, ort, weights, clock: window.threadMilliseconds, ...options });
};
