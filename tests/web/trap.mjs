// Kernels that trap.

/** Runs `work` in a host that lies: a step of every module that is instantiated there traps. */
export async function withTrappingKernels(work) {
  const { Instance } = WebAssembly;
  WebAssembly.Instance = function (module, imports) {
    const { exports } = new Instance(module, imports);
    const step = () => {
      throw new WebAssembly.RuntimeError('unreachable');
    };
    return { exports: { prepare: exports.prepare, step } };
  };
  try {
    await work();
  } finally {
    WebAssembly.Instance = Instance;
  }
}
