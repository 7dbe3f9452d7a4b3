// Loads and stores of every dtype in native code: widths, signs, unaligned places, partial vectors, and that no lane
// outside of `count` touches memory.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/kernel/builder.h"
#include "tests/support/native_kernels.h"

namespace tandem {
namespace {

constexpr DType kAll[] = {DType::kBool, DType::kI8,  DType::kI16, DType::kI32,  DType::kI64, DType::kU8, DType::kU16,
                          DType::kU32,  DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

DType widened(DType dtype) {
  switch (register_scalar(dtype)) {
    case Scalar::kF32:
      return DType::kF32;
    case Scalar::kF64:
      return DType::kF64;
    case Scalar::kI64:
      return DType::kI64;
    default:
      return DType::kI32;
  }
}

/// The element as a register holds it, computed from its bytes.
uint64_t in_register(DType dtype, const uint8_t* element) {
  uint64_t value = 0;
  std::memcpy(&value, element, size_of(dtype));
  if (dtype == DType::kI8) return static_cast<uint32_t>(static_cast<int8_t>(value));
  if (dtype == DType::kI16) return static_cast<uint32_t>(static_cast<int16_t>(value));
  return value;
}

std::vector<uint8_t> pattern(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; i++) bytes[i] = static_cast<uint8_t>(37 * i + 131 + (i >> 3));
  return bytes;
}

/// Memory that ends where an unreadable page begins.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes) : page_(static_cast<size_t>(::getpagesize())) {
    base_ =
        static_cast<uint8_t*>(::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(base_ + page_, page_, PROT_NONE);
    start = base_ + page_ - bytes;
  }
  ~GuardedMemory() { ::munmap(base_, 2 * page_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  uint8_t* start;

 private:
  size_t page_;
  uint8_t* base_;
};

/// Runs all kernels as one program, each on its own pair of buffers (input, output).
void run_pairs(const std::vector<Kernel>& kernels, const Capabilities& capabilities, std::vector<void*> slots,
               const std::vector<int64_t>& values) {
  auto backend = test::uncached_backend();
  Program program;
  program.kernels = kernels;
  for (const Kernel& kernel : kernels)
    if (!kernel.variables.empty()) program.variables = kernel.variables;
  for (uint32_t i = 0; i < kernels.size(); i++) {
    KernelCall call;
    call.kernel = i;
    call.slots = {2 * i, 2 * i + 1};
    call.variables = kernels[i].variables;
    program.step_calls.push_back(call);
  }
  program.slots.resize(slots.size());
  CompileStatistics statistics;
  auto executable = backend->compile(program, capabilities, Numerics::kReproducible, statistics);
  ASSERT_TRUE(executable) << executable.error().text();
  ASSERT_TRUE((*executable)->run(Phase::kStep, slots.data(), values.data(), 0, kernels.size()));
}

TEST(ClangMemory, LoadsWidenAndStoresNarrowAtAnyElement) {
  for (const Capabilities& capabilities : test::native_instruction_sets()) {
    std::vector<Kernel> kernels;
    std::vector<std::vector<uint8_t>> memory;
    constexpr int64_t kOffset = 3, kElements = 24;
    struct Shape {
      DType from, to;
      int lanes;
    };
    std::vector<Shape> shapes;
    for (DType dtype : kAll)
      for (int lanes : {1, 2, 4, 8, 16})
        for (DType to : {dtype, widened(dtype)}) {
          KernelBuilder builder;
          const uint32_t input = builder.add_buffer(dtype, Access::kRead, kElements);
          const uint32_t output = builder.add_buffer(to, Access::kWrite, kElements);
          builder.store(output, kOffset + 2, builder.load(input, kOffset, lanes));
          kernels.push_back(builder.finish(concat("copy ", name_of(dtype), " ", lanes)));
          memory.push_back(pattern(kElements * size_of(dtype)));
          memory.emplace_back(kElements * size_of(to), 0x5a);
          shapes.push_back({dtype, to, lanes});
        }
    std::vector<void*> slots;
    for (auto& each : memory) slots.push_back(each.data());
    run_pairs(kernels, capabilities, slots, {});
    for (size_t i = 0; i < shapes.size(); i++) {
      const Shape& shape = shapes[i];
      const size_t width = size_of(shape.to);
      std::vector<uint8_t> want(kElements * width, 0x5a);
      for (int lane = 0; lane < shape.lanes; lane++) {
        const uint64_t value =
            in_register(shape.from, &memory[2 * i][(kOffset + static_cast<size_t>(lane)) * size_of(shape.from)]);
        std::memcpy(&want[(kOffset + 2 + static_cast<size_t>(lane)) * width], &value, width);
      }
      EXPECT_EQ(memory[2 * i + 1], want) << capabilities.isa << " " << kernels[i].name << " to " << name_of(shape.to);
    }
  }
}

/// Partial copies with the number of lanes in a variable, or constant when `constant` is set.
void check_partial(const Capabilities& capabilities, int lanes, int count, bool constant) {
  SCOPED_TRACE(concat(capabilities.isa, " ", count, " of ", lanes, constant ? " constant" : " variable"));
  const Index live = constant ? Index(count) : Index::variable("live", 0, lanes);
  std::vector<Kernel> kernels;
  std::vector<std::unique_ptr<GuardedMemory>> memory;
  std::vector<void*> slots;
  constexpr int kFill = -3;
  struct Shape {
    DType from, to;
    bool partial_store;
  };
  std::vector<Shape> shapes;
  for (DType dtype : kAll)
    for (bool partial_store : {false, true}) {
      // Loads that stop early are stored in full, widened; stores that stop early come from full loads.
      const DType to = partial_store ? dtype : widened(dtype);
      KernelBuilder builder;
      const Index all = lanes;
      const uint32_t input = builder.add_buffer(dtype, Access::kRead, partial_store ? all : live);
      const uint32_t output = builder.add_buffer(to, Access::kWrite, partial_store ? live : all);
      if (partial_store)
        builder.store(output, 0, builder.load(input, 0, lanes), live);
      else
        builder.store(output, 0, builder.load(input, 0, lanes, live, kFill));
      kernels.push_back(builder.finish(concat("partial ", name_of(dtype), partial_store ? " store" : " load")));
      const size_t in_elements = static_cast<size_t>(partial_store ? lanes : count);
      const size_t out_elements = static_cast<size_t>(partial_store ? count : lanes);
      memory.push_back(std::make_unique<GuardedMemory>(in_elements * size_of(dtype)));
      const auto bytes = pattern(in_elements * size_of(dtype));
      if (!bytes.empty()) std::memcpy(memory.back()->start, bytes.data(), bytes.size());
      slots.push_back(memory.back()->start);
      memory.push_back(std::make_unique<GuardedMemory>(out_elements * size_of(to)));
      slots.push_back(memory.back()->start);
      shapes.push_back({dtype, to, partial_store});
    }
  run_pairs(kernels, capabilities, slots, {count});
  for (size_t i = 0; i < shapes.size(); i++) {
    const Shape& shape = shapes[i];
    const uint8_t* in = memory[2 * i]->start;
    const uint8_t* out = memory[2 * i + 1]->start;
    const size_t width = size_of(shape.to);
    for (int lane = 0; lane < (shape.partial_store ? count : lanes); lane++) {
      uint64_t want = 0;
      if (lane < count)
        want = in_register(shape.from, in + static_cast<size_t>(lane) * size_of(shape.from));
      else if (shape.to == DType::kF32) {
        const float fill = kFill;
        std::memcpy(&want, &fill, 4);
      } else if (shape.to == DType::kF64) {
        const double fill = kFill;
        std::memcpy(&want, &fill, 8);
      } else {
        const int64_t fill = kFill;
        std::memcpy(&want, &fill, width);
      }
      EXPECT_EQ(std::memcmp(out + static_cast<size_t>(lane) * width, &want, width), 0)
          << kernels[i].name << " lane " << lane;
    }
  }
}

TEST(ClangMemory, PartialVectorsTouchOnlyTheirLanes) {
  for (const Capabilities& capabilities : test::native_instruction_sets()) {
    for (int count : {0, 1, 3}) check_partial(capabilities, 4, count, false);
    for (int count : {0, 1, 7, 16}) check_partial(capabilities, 16, count, false);
    for (int count : {0, 1}) check_partial(capabilities, 1, count, false);
    check_partial(capabilities, 2, 1, false);
    check_partial(capabilities, 16, 5, true);
    check_partial(capabilities, 8, 6, true);
  }
}

}  // namespace
}  // namespace tandem
