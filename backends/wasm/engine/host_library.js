// The JavaScript side of host.cc, as an Emscripten library. Nothing here lets an error through to C++: WebAssembly code
// can't catch a trap or a JavaScript error, so every call that may end in one is made inside a try.
//
// Modules are compiled at once and where the engine lives: checking the module of a plan takes a few milliseconds, since
// functions are compiled when they are first called. What takes longer, building and emitting the plan, can't be moved
// off this thread without the engine itself: a page that must not stop runs the engine in a worker (web/worker.js).
// `compiled` keeps the most recent modules by key, so that equal plans compile once.
mergeInto(LibraryManager.library, {
  // Emscripten writes plain values and functions of a library; the Map is made at start.
  $tandemModules__postset: 'tandemModules.compiled = new Map(); Module["tandemModules"] = tandemModules;',
  $tandemModules: {
    compiled: null,
    instances: [],
    free: [],
    count: 0,
    remember: function(key, module) {
      var compiled = tandemModules.compiled;
      compiled.delete(key);
      compiled.set(key, module);
      if (compiled.size > 16) compiled.delete(compiled.keys().next().value);
    },
    report: function(code, error, message, capacity) {
      stringToUTF8(error.name + ': ' + error.message, message >>> 0, capacity);
      return code;
    },
  },

  tandem_module_load__deps: ['$tandemModules'],
  tandem_module_load: function(bytes, size, keyLow, keyHigh, message, capacity) {
    try {
      var key = size + '-' + (keyLow >>> 0) + '-' + (keyHigh >>> 0);
      var module = tandemModules.compiled.get(key);
      if (!module) {
        module = new WebAssembly.Module(new Uint8Array(wasmMemory.buffer, bytes >>> 0, size));
      }
      tandemModules.remember(key, module);
      var instance = new WebAssembly.Instance(module, { env: { memory: wasmMemory } });
      var index = tandemModules.free.length ? tandemModules.free.pop() : tandemModules.instances.length;
      tandemModules.instances[index] = [instance.exports.prepare, instance.exports.step];
      tandemModules.count++;
      return index;
    } catch (error) {
      return tandemModules.report(-1, error, message, capacity);
    }
  },

  tandem_module_run__deps: ['$tandemModules'],
  tandem_module_run: function(module, phase, slots, variables, first, last, message, capacity) {
    try {
      tandemModules.instances[module][phase](slots, variables, first, last);
      return 0;
    } catch (error) {
      return tandemModules.report(-1, error, message, capacity);
    }
  },

  tandem_module_unload__deps: ['$tandemModules'],
  tandem_module_unload: function(module) {
    tandemModules.instances[module] = null;
    tandemModules.free.push(module);
    tandemModules.count--;
  },

  tandem_module_count__deps: ['$tandemModules'],
  tandem_module_count: function() {
    return tandemModules.count;
  },

  // The host's own loop: a first plan would run the engine's in code that was compiled in a hurry.
  tandem_zero: function(memory, size) {
    HEAPU8.fill(0, memory >>> 0, (memory >>> 0) + (size >>> 0));
  },

  // f32x4.relaxed_madd of three zero vectors.
  tandem_has_relaxed_simd: function() {
    var zero = [0xfd, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    var body = [0].concat(zero, zero, zero, [0xfd, 0x85, 0x02, 0x1a, 0x0b]);
    var head = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, body.length + 2, 1, body.length];
    return WebAssembly.validate(new Uint8Array(head.concat(body))) ? 1 : 0;
  },
});
