// Waveform, probabilities and segments on one canvas.

const WAVE_SHARE = 0.55;
const AXIS = 22;
const LEFT = 34;

function colours() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  return Object.fromEntries(['text', 'muted', 'border', 'wave', 'curve', 'speech', 'line'].map((n) => [n, colour(n)]));
}

/** A step of the time axis that leaves at least 70 pixels between labels. */
function axisStep(seconds, width) {
  const least = (seconds * 70) / width;
  return [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600].find((step) => step >= least) ?? 1800;
}

export function timeText(seconds, decimals = 2) {
  const minutes = Math.floor(seconds / 60);
  const rest = (seconds - 60 * minutes).toFixed(decimals).padStart(decimals > 0 ? 3 + decimals : 2, '0');
  return `${minutes}:${rest}`;
}

export class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.data = null;
    this.position = 0;
    this.still = null;
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  /** { samples, sampleRate, probabilities, windowSamples, segments, threshold } */
  show(data) {
    this.data = data;
    this.draw();
  }

  get seconds() {
    return this.data.samples.length / this.data.sampleRate;
  }

  /** Second of the recording under a place of the page. */
  secondAt(clientX) {
    const box = this.canvas.getBoundingClientRect();
    const share = (clientX - box.left - LEFT) / (box.width - LEFT);
    return Math.min(1, Math.max(0, share)) * this.seconds;
  }

  /** Everything but the playhead, kept as an image, since it stands still while the sound plays. */
  draw() {
    if (!this.data) return;
    const { canvas } = this;
    const scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (width === 0) return;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext('2d');
    context.scale(scale, scale);
    const area = { x: LEFT, width: width - LEFT, waveTop: 0, waveHeight: (height - AXIS) * WAVE_SHARE - 8 };
    area.curveTop = area.waveTop + area.waveHeight + 16;
    area.curveHeight = height - AXIS - area.curveTop;
    const colour = colours();
    context.font = '12px system-ui, "DejaVu Sans", sans-serif';
    this.#segments(context, area, colour);
    this.#waveform(context, area, colour);
    this.#probabilities(context, area, colour);
    this.#axis(context, area, colour, height);
    this.still = context.getImageData(0, 0, canvas.width, canvas.height);
    this.movePlayhead(this.position);
  }

  movePlayhead(seconds) {
    this.position = seconds;
    if (!this.still) return;
    const context = this.canvas.getContext('2d');
    context.putImageData(this.still, 0, 0);
    if (seconds <= 0) return;
    const x = LEFT + (seconds / this.seconds) * (this.canvas.clientWidth - LEFT);
    context.fillStyle = colours().text;
    context.fillRect(x - 0.75, 0, 1.5, this.canvas.clientHeight - AXIS);
  }

  #x(area, sample) {
    return area.x + (sample / this.data.samples.length) * area.width;
  }

  #segments(context, area, colour) {
    for (const { start, end } of this.data.segments) {
      const x = this.#x(area, start);
      const width = Math.max(1, this.#x(area, end) - x);
      context.fillStyle = colour.speech;
      context.globalAlpha = 0.16;
      context.fillRect(x, area.waveTop, width, area.curveTop + area.curveHeight - area.waveTop);
      context.globalAlpha = 1;
      context.fillRect(x, area.curveTop - 11, width, 5);
    }
  }

  #waveform(context, area, colour) {
    const { samples } = this.data;
    const middle = area.waveTop + area.waveHeight / 2;
    let peak = 1e-3;
    for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
    const scale = (area.waveHeight / 2 - 2) / peak;
    context.fillStyle = colour.wave;
    const columns = Math.floor(area.width * 2);
    for (let column = 0; column < columns; column++) {
      const from = Math.floor((column * samples.length) / columns);
      const to = Math.max(from + 1, Math.floor(((column + 1) * samples.length) / columns));
      let low = 0;
      let high = 0;
      for (let i = from; i < to && i < samples.length; i++) {
        low = Math.min(low, samples[i]);
        high = Math.max(high, samples[i]);
      }
      context.fillRect(area.x + column / 2, middle - high * scale, 0.5, Math.max(1, (high - low) * scale));
    }
  }

  #probabilities(context, area, colour) {
    const { probabilities, windowSamples, threshold, samples } = this.data;
    const y = (probability) => area.curveTop + (1 - probability) * area.curveHeight;
    context.fillStyle = colour.muted;
    context.textAlign = 'right';
    for (const [value, baseline] of [[1, 'top'], [0, 'bottom']]) {
      context.textBaseline = baseline;
      context.fillText(String(value), area.x - 8, y(value));
      context.fillStyle = colour.border;
      context.fillRect(area.x, y(value), area.width, 1);
      context.fillStyle = colour.muted;
    }
    context.strokeStyle = colour.line;
    context.lineWidth = 1.5;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(area.x, y(threshold));
    context.lineTo(area.x + area.width, y(threshold));
    context.stroke();
    context.setLineDash([]);
    context.strokeStyle = colour.curve;
    context.lineWidth = 2;
    context.lineJoin = 'round';
    context.beginPath();
    probabilities.forEach((probability, i) => {
      const x = this.#x(area, Math.min(samples.length, (i + 0.5) * windowSamples));
      if (i === 0) context.moveTo(x, y(probability));
      else context.lineTo(x, y(probability));
    });
    context.stroke();
  }

  #axis(context, area, colour, height) {
    const step = axisStep(this.seconds, area.width);
    context.fillStyle = colour.muted;
    context.textBaseline = 'bottom';
    for (let second = 0; second <= this.seconds; second += step) {
      const x = this.#x(area, second * this.data.sampleRate);
      context.fillRect(x, height - AXIS, 1, 5);
      context.textAlign = second === 0 ? 'left' : x > area.x + area.width - 24 ? 'right' : 'center';
      context.fillText(timeText(second, step < 1 ? 1 : 0), x, height);
    }
  }
}
