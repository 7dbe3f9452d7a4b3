/**
 * Every error of this package. `code` is stable, the message is for people; `details` (also copied onto the error
 * itself) holds what the message names: index, expected, actual, url, status.
 */
export class TandemError extends Error {
  constructor(code, message, details = {}) {
    super(message);
    this.name = 'TandemError';
    this.code = code;
    this.details = details;
    Object.assign(this, details);
  }
}

/** What a value is, for messages. */
export function describe(value) {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return `an Array of ${value.length}`;
  if (ArrayBuffer.isView(value)) return `${value.constructor.name} of ${value.length ?? value.byteLength}`;
  if (typeof value === 'object' || typeof value === 'function') return value.constructor?.name ?? typeof value;
  // JSON knows neither NaN nor Infinity, and refuses a bigint.
  if (typeof value === 'number' || typeof value === 'bigint') return `${typeof value} ${value}`;
  return `${typeof value} ${JSON.stringify(value)}`;
}

/** One of the allowed values, or an InvalidArgument that lists them. */
export function oneOf(name, value, allowed) {
  if (allowed.includes(value)) return value;
  const list = allowed.map((item) => JSON.stringify(item)).join(', ');
  throw new TandemError('InvalidArgument', `${name} is ${describe(value)}; it must be one of ${list}`);
}

/** true or false, or an InvalidArgument. */
export function flagOf(name, value) {
  if (typeof value === 'boolean') return value;
  throw new TandemError('InvalidArgument', `${name} is ${describe(value)}; it must be true or false`);
}

/** A finite number, or an InvalidArgument. */
export function numberOf(name, value) {
  if (typeof value === 'number') return value;
  throw new TandemError('InvalidArgument', `${name} is ${describe(value)}; it must be a number`);
}

/** An object by whose keys things are named; nothing is an empty one. */
export function objectOf(what, value) {
  if (value === undefined) return {};
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new TandemError('InvalidArgument', `${what} is ${describe(value)}; it must be an object with names as keys`);
}

/** InvalidArgument for a key that is unknown. */
export function checkKeys(what, object, allowed) {
  for (const key of Object.keys(object)) {
    if (allowed.includes(key)) continue;
    throw new TandemError('InvalidArgument', `${what} has "${key}", which is unknown; it takes ${allowed.join(', ')}`);
  }
}

/** The entries of an object that have a value: null is the same as none. */
export function withoutNulls(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null && value !== undefined));
}

/**
 * The options of a call that were given: one that is null or undefined was not. InvalidArgument for what is no object and
 * for a name that is unknown.
 */
export function optionsOf(call, options, allowed) {
  const given = objectOf(`the options of ${call}`, options);
  for (const key of Object.keys(given)) {
    if (allowed.includes(key)) continue;
    throw new TandemError('InvalidArgument', `the options of ${call} have "${key}", which is unknown; they are ${allowed.join(', ')}`);
  }
  return withoutNulls(given);
}

/** A size that is a whole number from 0 on. */
export function sizeOf(what, value, details) {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new TandemError('Variable', `${what} is ${describe(value)}; it must be a whole number from 0 on`, details);
}
