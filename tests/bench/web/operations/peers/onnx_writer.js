// Writes a small ONNX model: protocol buffers by hand (field numbers of onnx.proto, opset 17).

function varint(value) {
  const bytes = [];
  let rest = BigInt(value);
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return bytes;
}

const utf8 = new TextEncoder();

function join(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const number = (field, value) => Uint8Array.from([...varint(field << 3), ...varint(value)]);
function bytes(field, content) {
  const data = typeof content === 'string' ? utf8.encode(content) : content;
  return join([Uint8Array.from([...varint((field << 3) | 2), ...varint(data.length)]), data]);
}
const message = (field, ...parts) => bytes(field, join(parts));
function float(field, value) {
  return join([Uint8Array.of((field << 3) | 5), new Uint8Array(Float32Array.of(value).buffer)]);
}

const FLOAT = 1;
const tensor = (name, { shape, values }) => message(5, ...shape.map((extent) => number(1, extent)), number(2, FLOAT),
  bytes(8, name), bytes(9, new Uint8Array(values.buffer, values.byteOffset, values.byteLength)));
const valueInfo = (field, name, shape) => message(field, bytes(1, name), message(2, message(1, number(1, FLOAT),
  ...(shape ? [message(2, ...shape.map((extent) => message(1, number(1, extent))))] : []))));

/** An attribute is a list of whole numbers, a whole number, or `{float}`. */
function attribute(name, value) {
  if (Array.isArray(value)) return message(5, bytes(1, name), ...value.map((v) => number(8, v)), number(20, 7));
  if (typeof value === 'object') return message(5, bytes(1, name), float(2, value.float), number(20, 1));
  return message(5, bytes(1, name), number(3, value), number(20, 2));
}

/**
 * `nodes`: `[operator, inputs, outputs, attributes]`; an input that is left out is ''. `inputs`, `weights`: by name, with
 * shape and values. `outputs`: names.
 */
export function onnxModel({ nodes, inputs, weights, outputs }) {
  const graph = message(7,
    ...nodes.map(([operator, from, to, attributes = {}]) => message(1, ...from.map((name) => bytes(1, name)),
      ...to.map((name) => bytes(2, name)), bytes(4, operator),
      ...Object.entries(attributes).map(([name, value]) => attribute(name, value)))),
    bytes(2, 'graph'),
    ...Object.entries(weights).map(([name, weight]) => tensor(name, weight)),
    ...Object.entries(inputs).map(([name, { shape }]) => valueInfo(11, name, shape)),
    ...outputs.map((name) => valueInfo(12, name)));
  return join([number(1, 8), graph, message(8, bytes(1, ''), number(2, 17))]);
}
