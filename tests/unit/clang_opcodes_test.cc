// Every opcode of the kernel IR in native code, at every instruction set of this machine and several lane counts.
#include <gtest/gtest.h>

#include "tests/support/native_kernels.h"
#include "tests/support/opcode_check.h"

namespace tandem {
namespace {

TEST(ClangOpcodes, MeanWhatTheTableSays) {
  auto backend = test::uncached_backend();
  for (const Capabilities& capabilities : test::native_instruction_sets())
    for (int lanes : {1, 4, 16}) test::check_opcodes(*backend, capabilities, lanes);
}

}  // namespace
}  // namespace tandem
