// What a page does that wants a probability as soon as it can, stage by stage; the program beside the browser calls the
// stages and reads its clocks between them. Each returns milliseconds.
import { createEngine } from '/tandem/index.js';

let engine;
let weights;
let vad;

async function timed(work) {
  const began = performance.now();
  const more = await work();
  return { milliseconds: performance.now() - began, ...more };
}

window.stages = {
  createEngine: () => timed(async () => {
    engine = await createEngine({ warmUp: !location.search.includes('cold') });
  }),
  weights: () => timed(async () => {
    weights = new Uint8Array(await (await fetch('/weights/silero_vad_v5.onnx')).arrayBuffer());
  }),
  prepare: () => timed(async () => {
    vad = await engine.loadSileroVad({ weights });
    return { timings: vad.timings };
  }),
  step: () => timed(async () => {
    vad.step(new Float32Array(512));
  }),
  // What it would take to have the module of the plan from the browser's cache instead of emitting it.
  keep: () => timed(async () => {
    const cache = await caches.open('startup');
    await cache.put('/module', new Response(vad.moduleBytes(), { headers: { 'content-type': 'application/wasm' } }));
  }),
  fetchKept: () => timed(async () => {
    const cache = await caches.open('startup');
    const found = await cache.match('/module');
    if (found) await found.arrayBuffer();
  }),
};
