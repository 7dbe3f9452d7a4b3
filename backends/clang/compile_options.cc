#include "backends/clang/compile_options.h"

namespace tandem {

namespace {

// Our kernels are vectorised and unrolled when they arrive: what is left is to clean up, to hoist and to simplify
// subscripts. Vectorisers, unrollers and the idiom recogniser (which would call memset) have no place here; nor has
// indvars, whose analysis of subscripts with many minima took a quarter of the passes' time and changed no kernel's.
// Every value is a variable of C: mem2reg takes those away in less time than sroa, which is for the few unions that are
// left. Without no-verify-fixpoint, a pipeline given as text ends the process when one round of instcombine isn't
// enough.
constexpr const char* kPasses =
    "always-inline,"
    "function(mem2reg,sroa<modify-cfg>,simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(loop-rotate,licm),"
    "early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,dce)";

}  // namespace

CompileOptions compile_options_for(const Capabilities& capabilities, bool debug) {
  CompileOptions options;
  options.passes = kPasses;
  auto& arguments = options.arguments;
  arguments = {"-triple", "x86_64-pc-linux-gnu", "-emit-llvm-only", "-x", "c", "-std=gnu11", "-nostdsysteminc",
               "-nobuiltininc", "-mrelocation-model", "pic", "-pic-level", "2", "-mframe-pointer=none",
               // The order and rounding of every operation are the kernel's: nothing is contracted, integers wrap.
               "-ffp-contract=off", "-fwrapv", "-relaxed-aliasing",
               // Objects stand alone: no loop may become a call of memset.
               "-ffreestanding", "-fno-builtin", "-O2", "-disable-llvm-passes", "-w",
               // Two calls for every variable, which all end up in registers.
               "-disable-lifetime-markers",
               // Nobody reads the names of what is gone a moment later.
               "-discard-value-names"};
  const char* cpu = capabilities.vector_bytes >= 64   ? "x86-64-v4"
                    : capabilities.vector_bytes >= 32 ? "x86-64-v3"
                                                      : "x86-64-v2";
  arguments.insert(arguments.end(), {"-target-cpu", cpu});
  if (capabilities.fma) arguments.insert(arguments.end(), {"-target-feature", "+fma"});
  if (capabilities.half_conversion) arguments.insert(arguments.end(), {"-target-feature", "+f16c"});
  // x86-64-v4 prefers 256 bits by default and would split every 64-byte vector.
  if (capabilities.vector_bytes >= 64) arguments.emplace_back("-mprefer-vector-width=512");
  if (debug)
    arguments.insert(arguments.end(), {"-debug-info-kind=line-tables-only", "-dwarf-version=4", "-funwind-tables=2"});
  return options;
}

}  // namespace tandem
