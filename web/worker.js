// The engine in a module worker: executes what worker_engine.js asks for, one message at a time.
import { createEngine } from './engine.js';
import { TandemError } from './errors.js';

let engine = null;
const objects = new Map();
let lastNumber = 0;

function live(number) {
  const object = objects.get(number);
  if (!object) throw new TandemError('Destroyed', 'this object was destroyed; make a new one');
  return object;
}

const operations = {
  async createEngine(options) {
    engine = await createEngine(options);
    return engine.capabilities;
  },
  async loadSileroVad(options) {
    const vad = await engine.loadSileroVad(options);
    objects.set(++lastNumber, vad);
    const { windowSamples, sampleRate, version, timings, moduleSize } = vad;
    return { number: lastNumber, windowSamples, sampleRate, version, timings, moduleSize };
  },
  async loadGigaAM({ reportsProgress, ...options }) {
    if (reportsProgress) options.onProgress = this.progress;
    const recognizer = await engine.loadGigaAM(options);
    objects.set(++lastNumber, recognizer);
    return { number: lastNumber, ...recognizer };
  },
  transcribe: (number, samples) => live(number).transcribe(samples),
  logMel: (number, samples) => live(number).logMel(samples),
  recognizeMel: (number, mel, lengths) => live(number).recognizeMel(mel, lengths),
  compileGraph(text, options) {
    const graph = engine.compileGraph(text, options);
    objects.set(++lastNumber, graph);
    const { inputs, outputs, variables } = graph;
    return { number: lastNumber, inputs, outputs, variables };
  },
  counters: () => engine.counters(),
  speechTimestamps: (probabilities, options) => engine.speechTimestamps(probabilities, options),
  run: (number, inputs, variables) => live(number).run(inputs, variables),
  profileGraph: (number, inputs, variables, options) => live(number).executeProfiled(inputs, variables, options),
  moduleBytes: (number) => live(number).moduleBytes(),
  step: (number, samples) => live(number).step(samples),
  process: (number, samples) => live(number).process(samples),
  flush: (number) => live(number).flush(),
  state: (number) => live(number).state(),
  reset: (number) => live(number).reset(),
  executeProfiled: (number, ...values) => live(number).executeProfiled(...values),
  destroyObject(number) {
    objects.get(number)?.destroy();
    objects.delete(number);
  },
  destroy: () => engine?.destroy(),
};

function buffersIn(result) {
  if (ArrayBuffer.isView(result)) return [result.buffer];
  if (result && ArrayBuffer.isView(result.h)) return [result.h.buffer, result.c.buffer];
  if (Array.isArray(result)) return result.filter(({ data }) => ArrayBuffer.isView(data)).map(({ data }) => data.buffer);
  return [];
}

let previous = Promise.resolve();
self.onmessage = ({ data: { id, operation, values } }) => {
  previous = previous.then(async () => {
    try {
      const progress = (value) => self.postMessage({ id, progress: value });
      const result = await operations[operation].call({ progress }, ...values);
      self.postMessage({ id, result }, buffersIn(result));
    } catch (error) {
      const { code = 'Runtime', message, details = {} } = error;
      self.postMessage({ id, error: { code, message, details } });
    }
  });
};
