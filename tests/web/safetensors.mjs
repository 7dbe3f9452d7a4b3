// Safetensors files, read and written by other code than the package's.

const TYPES = { F32: Float32Array, I32: Int32Array, I16: Int16Array, F16: Uint16Array };

/** { metadata, tensors: { name: { dtype, shape, data } } } */
export function readSafetensors(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const { __metadata__: metadata = {}, ...entries } = header;
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(entries)) {
    const data = bytes.slice(8 + length + begin, 8 + length + end);
    tensors[name] = { dtype, shape, data: new TYPES[dtype](data.buffer) };
  }
  return { metadata, tensors };
}

export function writeSafetensors(tensors, metadata) {
  const header = metadata ? { __metadata__: metadata } : {};
  let position = 0;
  for (const [name, { dtype, shape, data }] of Object.entries(tensors)) {
    header[name] = { dtype, shape, data_offsets: [position, position + data.byteLength] };
    position += data.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + position);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  let end = 8 + text.length;
  for (const { data } of Object.values(tensors)) {
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), end);
    end += data.byteLength;
  }
  return bytes;
}

/** The weights of a golden file, without what is fed and expected. */
export function weightsOf({ tensors }) {
  return Object.fromEntries(Object.entries(tensors).filter(([name]) => /^(encoder|head)\./.test(name)));
}
