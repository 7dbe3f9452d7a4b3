// Writes a TensorFlow Lite model with the flatbuffers library (field numbers of the schema, version 3).
import { Builder } from '/packages/flatbuffers/mjs/flatbuffers.js';

/** Operators by name: number of the operator, and how its options are written: `[number of the table, fields]`. */
const operators = {
  add: [0], mul: [18], sub: [41], logistic: [14], tanh: [28], rsqrt: [76], squaredDifference: [99], pad: [34],
  reshape: [22],
  concatenation: [2, ({ axis }) => [10, [['int', axis]]]],
  convolution: [3, ({ stride }) => [1, [['byte', 1], ['int', stride], ['int', 1], ['byte', 0], ['int', 1], ['int', 1]]]],
  batchMatmul: [126, ({ transposesSecond = false }) => [101, [['byte', 0], ['byte', Number(transposesSecond)]]]],
  fullyConnected: [9, () => [8, [['byte', 0]]]],
  softmax: [25, () => [9, [['float', 1]]]],
  mean: [40, () => [27, [['byte', 1]]]],
  split: [49, ({ count }) => [35, [['int', count]]]],
};

const writers = {
  byte: (builder, field, value) => builder.addFieldInt8(field, value, -1),
  int: (builder, field, value) => builder.addFieldInt32(field, value, value + 1),
  float: (builder, field, value) => builder.addFieldFloat32(field, value, value + 1),
  offset: (builder, field, value) => builder.addFieldOffset(field, value, 0),
};

/** `fields`: `[type, value]` in the order of the schema, or undefined for one that is left out. */
function table(builder, fields) {
  builder.startObject(fields.length);
  fields.forEach((field, i) => { if (field) writers[field[0]](builder, i, field[1]); });
  return builder.endObject();
}

function vector(builder, size, values, add) {
  builder.startVector(size, values.length, size);
  for (let i = values.length - 1; i >= 0; i--) add(values[i]);
  return ['offset', builder.endVector()];
}
const ints = (builder, values) => vector(builder, 4, values, (value) => builder.addInt32(value));
const offsets = (builder, values) => vector(builder, 4, values, (value) => builder.addOffset(value));

function buffer(builder, values) {
  if (!values) return table(builder, []);
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  builder.startVector(1, bytes.length, 16);
  builder.space -= bytes.length;
  builder.bb.bytes().set(bytes, builder.space);
  return table(builder, [['offset', builder.endVector()]]);
}

/** Collects tensors and operators; tensors are numbers. */
export class TfliteModel {
  tensors = [];
  nodes = [];
  inputs = [];

  tensor(shape, values) { return this.tensors.push({ shape, values }) - 1; }
  input(shape) {
    const tensor = this.tensor(shape);
    this.inputs.push(tensor);
    return tensor;
  }
  /** A call of an operator; `shapes` of its results, of which the first is returned, or all if there are several. */
  call(name, from, shapes, options = {}) {
    const to = shapes.map((shape) => this.tensor(shape));
    this.nodes.push({ name, from, to, options });
    return to.length === 1 ? to[0] : to;
  }

  finish(outputs) {
    const values = this.tensors.reduce((sum, { values: all }) => sum + (all?.byteLength ?? 0), 0);
    const builder = new Builder(values + 65536);
    const names = [...new Set(this.nodes.map(({ name }) => name))];
    const codes = names.map((name) => {
      const number = operators[name][0];
      return table(builder, [['byte', number], undefined, ['int', 1], ['int', number]]);
    });
    const buffers = [buffer(builder), ...this.tensors.map(({ values: all }) => buffer(builder, all))];
    const tensors = this.tensors.map(({ shape, values: all }, i) => {
      const name = ['offset', builder.createString(`t${i}`)];
      const type = all instanceof Int32Array ? 2 : 0;
      return table(builder, [ints(builder, shape), ['byte', type], ['int', i + 1], name]);
    });
    const nodes = this.nodes.map(({ name, from, to, options }) => {
      const [kind, fields] = operators[name][1]?.(options) ?? [];
      const written = fields ? ['offset', table(builder, fields)] : undefined;
      return table(builder, [['int', names.indexOf(name)], ints(builder, from), ints(builder, to),
        kind ? ['byte', kind] : undefined, written]);
    });
    const graph = table(builder, [offsets(builder, tensors), ints(builder, this.inputs), ints(builder, outputs),
      offsets(builder, nodes)]);
    builder.finish(table(builder, [['int', 3], offsets(builder, codes), offsets(builder, [graph]), undefined,
      offsets(builder, buffers)]), 'TFL3');
    return builder.asUint8Array();
  }
}
