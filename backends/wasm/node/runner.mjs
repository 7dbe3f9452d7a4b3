// Runs WebAssembly programs for another process. Talks over standard input and output, one request at a time, all
// numbers little-endian u32: request [operation, payload bytes, payload], reply [status, payload bytes, payload].
// A write has no reply. The end of the input ends the process.
import fs from 'fs';

const HELLO = 1, LOAD = 2, WRITE = 3, RUN = 4, UNLOAD = 5, COPY = 6;
const programs = new Map();

function retry(action) {
  for (;;) {
    try {
      return action();
    } catch (error) {
      if (error.code === 'EOF') process.exit(0);
      if (error.code !== 'EAGAIN' && error.code !== 'EINTR') throw error;
    }
  }
}

function readInto(bytes) {
  for (let done = 0; done < bytes.length;) {
    const count = retry(() => fs.readSync(0, bytes, done, Math.min(bytes.length - done, 1 << 30), null));
    if (count === 0) process.exit(0);
    done += count;
  }
  return bytes;
}

function writeAll(bytes) {
  for (let done = 0; done < bytes.length;) {
    done += retry(() => fs.writeSync(1, bytes, done, Math.min(bytes.length - done, 1 << 30)));
  }
}

function reply(status, parts) {
  let size = 0;
  for (const part of parts) size += part.length;
  writeAll(new Uint8Array(new Uint32Array([status, size]).buffer));
  for (const part of parts) writeAll(part);
}

const numbers = (bytes) => new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
const readNumbers = (count) => numbers(readInto(new Uint8Array(4 * count)));
const textBytes = (text) => new TextEncoder().encode(text);

// f32x4.relaxed_madd of three zero vectors.
function hasRelaxedSimd() {
  const zero = [0xfd, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  const body = [0, ...zero, ...zero, ...zero, 0xfd, 0x85, 0x02, 0x1a, 0x0b];
  const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0];
  return WebAssembly.validate(new Uint8Array([...header, 10, body.length + 2, 1, body.length, ...body]));
}

function load(payload) {
  const [id, pages] = numbers(payload.subarray(0, 8));
  const memory = new WebAssembly.Memory({ initial: pages });
  const module = new WebAssembly.Module(payload.subarray(8));
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  programs.set(id, { memory, bytes: new Uint8Array(memory.buffer), exports });
  return [];
}

function write(size) {
  const [id, address] = readNumbers(2);
  readInto(programs.get(id).bytes.subarray(address, address + size - 8));
}

// [program, phase, first, last, address of slots, address of variables, count, variables..., (address, bytes)...]
function run(payload) {
  const [id, phase, first, last, slots, variables, count] = numbers(payload.subarray(0, 28));
  const program = programs.get(id);
  const rest = numbers(payload.subarray(28));
  new Uint32Array(program.memory.buffer, variables, count).set(rest.subarray(0, count));
  program.exports[phase === 0 ? 'prepare' : 'step'](slots, variables, first, last);
  const results = [];
  for (let i = count; i < rest.length; i += 2) results.push(program.bytes.subarray(rest[i], rest[i] + rest[i + 1]));
  return results;
}

function copy(payload) {
  const [target, source] = numbers(payload);
  programs.get(target).bytes.set(programs.get(source).bytes);
  return [];
}

for (;;) {
  const [operation, size] = readNumbers(2);
  if (operation === WRITE) {
    write(size);
    continue;
  }
  const payload = readInto(new Uint8Array(size));
  let status = 0;
  let parts = [];
  try {
    if (operation === HELLO) parts = [textBytes(`${hasRelaxedSimd() ? 1 : 0} ${process.versions.node}`)];
    if (operation === LOAD) parts = load(payload);
    if (operation === COPY) parts = copy(payload);
    if (operation === RUN) parts = run(payload);
    if (operation === UNLOAD) programs.delete(numbers(payload)[0]);
  } catch (error) {
    status = 1;
    parts = [textBytes(`${error.name}: ${error.message}`)];
  }
  reply(status, parts);
}
