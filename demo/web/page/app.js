import { createEngine } from '/tandem/index.js';
import { Picture, timeText } from './picture.js';
import { SAMPLE_RATE, decode, detect } from './recording.js';

const element = (id) => document.getElementById(id);
const picture = new Picture(element('picture'));
const audio = new Audio();
let engine = null;
let vad = null;
let recording = null;
let engineMs = 0;
let work = Promise.resolve();

function say(text, isError = false) {
  element('status').textContent = text;
  element('status').classList.toggle('error', isError);
}

/** One thing at a time, in the order in which it was asked for; errors are shown. */
function queue(task) {
  work = work.then(task).catch((error) => {
    console.error(error);
    say(error.message, true);
  });
  return work;
}

async function loadModel() {
  const version = element('model').value;
  if (vad?.version === version) return;
  say('Preparing the model …');
  const next = await engine.loadSileroVad({ weights: `/weights/silero_vad_${version}.onnx`, version });
  vad?.destroy();
  vad = next;
}

function speechText(segments) {
  const seconds = segments.reduce((sum, { start, end }) => sum + end - start, 0) / SAMPLE_RATE;
  if (segments.length === 0) return 'No speech was found.';
  const share = Math.round((100 * seconds * SAMPLE_RATE) / recording.samples.length);
  return `${segments.length} ${segments.length === 1 ? 'segment' : 'segments'} of speech, ` +
    `${seconds.toFixed(1)} s of ${(recording.samples.length / SAMPLE_RATE).toFixed(1)} s (${share} %).`;
}

function fact(name, value) {
  const item = document.createElement('div');
  const term = document.createElement('dt');
  const description = document.createElement('dd');
  term.textContent = name;
  description.textContent = value;
  item.append(term, description);
  return item;
}

function showFacts() {
  const { milliseconds, probabilities, samples } = recording;
  const realTime = (samples.length / SAMPLE_RATE) * 1000;
  element('facts').replaceChildren(
    fact('engine loaded', `${engineMs.toFixed(0)} ms`),
    fact('model prepared', `${vad.timings.prepareMs.toFixed(0)} ms`),
    fact('emitted module', `${(vad.moduleSize / 1000).toFixed(1)} kB`),
    fact('one step of 32 ms', `${((1000 * milliseconds) / probabilities.length).toFixed(0)} µs`),
    fact('faster than real time', `${Math.round(realTime / milliseconds)} ×`),
    fact('instruction set', engine.capabilities.relaxedSimd ? 'relaxed SIMD' : 'SIMD'),
  );
}

function playFrom(seconds, until = Infinity) {
  audio.currentTime = seconds;
  audio.dataset.until = until;
  audio.play().catch((error) => say(`The sound can't be played: ${error.message}`, true));
}

function showSegments(segments) {
  const rows = segments.map(({ start, end }, i) => {
    const row = document.createElement('tr');
    const { probabilities } = recording;
    const inside = probabilities.subarray(Math.floor(start / vad.windowSamples), Math.ceil(end / vad.windowSamples));
    const texts = [i + 1, timeText(start / SAMPLE_RATE), timeText(end / SAMPLE_RATE),
      `${((end - start) / SAMPLE_RATE).toFixed(2)} s`, inside.reduce((a, b) => Math.max(a, b), 0).toFixed(3)];
    for (const text of texts) {
      const cell = document.createElement('td');
      cell.textContent = text;
      row.append(cell);
    }
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Play';
    button.setAttribute('aria-label', `Play segment ${i + 1}`);
    button.addEventListener('click', () => playFrom(start / SAMPLE_RATE, end / SAMPLE_RATE));
    const cell = document.createElement('td');
    cell.append(button);
    row.append(cell);
    return row;
  });
  element('segments').replaceChildren(...rows);
}

/** Segments from the probabilities that are there: quick enough for every movement of a slider. */
function segment() {
  const threshold = Number(element('threshold').value);
  const silence = Number(element('silence').value);
  element('threshold-value').textContent = threshold.toFixed(2);
  element('silence-value').textContent = `${silence} ms`;
  if (!recording?.probabilities) return;
  const { samples, probabilities } = recording;
  const segments = engine.speechTimestamps(probabilities, {
    sampleRate: SAMPLE_RATE,
    samples: samples.length,
    threshold,
    minSilenceDurationMs: silence,
  });
  const text = speechText(segments);
  element('summary').textContent = text;
  element('picture').setAttribute('aria-label', `Waveform and probability of speech of ${recording.name}`);
  picture.show({ samples, sampleRate: SAMPLE_RATE, probabilities, windowSamples: vad.windowSamples, segments, threshold });
  showSegments(segments);
}

async function analyse() {
  await loadModel();
  const found = await detect(vad, recording.samples, (share) => say(`Listening … ${Math.round(100 * share)} %`));
  Object.assign(recording, found);
  element('result').hidden = false;
  element('result-title').textContent = recording.name;
  showFacts();
  segment();
  say(`Done: ${recording.name}`);
}

async function open(name, blob) {
  say(`Reading ${name} …`);
  const samples = await decode(await blob.arrayBuffer());
  audio.pause();
  if (audio.src) URL.revokeObjectURL(audio.src);
  audio.src = URL.createObjectURL(blob);
  picture.position = 0;
  recording = { name, samples };
  await analyse();
}

async function openSample() {
  const response = await fetch('/sample/speech.wav');
  if (!response.ok) throw new Error('There is no sample on this machine; install the package pocketsphinx-testdata.');
  await open('An audio book (sample)', await response.blob());
}

function listen() {
  const drop = element('drop');
  for (const name of ['dragenter', 'dragover']) {
    document.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add('over');
    });
  }
  document.addEventListener('dragleave', (event) => {
    if (!event.relatedTarget) drop.classList.remove('over');
  });
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    const file = event.dataTransfer.files[0];
    if (file) queue(() => open(file.name, file));
  });
  element('file').addEventListener('change', ({ target }) => {
    const file = target.files[0];
    if (file) queue(() => open(file.name, file));
    target.value = '';
  });
  element('sample').addEventListener('click', () => queue(openSample));
  element('model').addEventListener('change', () => queue(() => recording && analyse()));
  element('threshold').addEventListener('input', () => queue(segment));
  element('silence').addEventListener('input', () => queue(segment));
}

function listenToPlayer() {
  const play = element('play');
  const toggle = () => (audio.paused ? playFrom(audio.ended ? 0 : audio.currentTime) : audio.pause());
  play.addEventListener('click', toggle);
  const canvas = element('picture');
  canvas.addEventListener('click', (event) => playFrom(picture.secondAt(event.clientX)));
  canvas.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) audio.currentTime = Math.max(0, audio.currentTime + step);
    else if (event.key === ' ') toggle();
    else return;
    event.preventDefault();
  });
  const follow = () => {
    if (audio.currentTime >= Number(audio.dataset.until)) audio.pause();
    if (recording?.probabilities) picture.movePlayhead(audio.currentTime);
    if (!audio.paused) requestAnimationFrame(follow);
  };
  for (const name of ['play', 'pause', 'ended', 'seeked']) {
    audio.addEventListener(name, () => {
      play.textContent = audio.paused ? 'Play' : 'Pause';
      play.setAttribute('aria-pressed', String(!audio.paused));
      follow();
    });
  }
}

listen();
listenToPlayer();
queue(async () => {
  const began = performance.now();
  engine = await createEngine();
  engineMs = performance.now() - began;
  await loadModel();
  say('Ready.');
});
