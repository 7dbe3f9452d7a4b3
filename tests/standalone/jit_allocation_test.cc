#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0;

void note() {
  if (counting) allocations++;
}

}  // namespace

// The C library's own functions under its second names: replacing malloc must not call itself.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* malloc(size_t size) {
  note();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  note();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  note();
  return __libc_realloc(memory, size);
}
}

void* operator new(size_t size) {
  if (void* memory = malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tandem {
namespace {

struct Nothing {};

struct Cell : Wrapper<Cell, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, 8)
  TANDEM_INPUT(x, f32, 2, t)
  TANDEM_INPUT(h, f32, 1, 4)
  TANDEM_INPUT(c, f32, 1, 4)
  TANDEM_BUILD(x, h, c) {
    const Tensor mean = x.mean().reshape({1, 1});
    return concat({mean, tanh(h + mean), c + mean}, 1);
  }
  TANDEM_RECURRENT(h, c)
};

struct Running : Wrapper<Running, Nothing> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, 8)
  TANDEM_INPUT(x, f32, 2, t)
  TANDEM_STATE(total, f32, 2)
  TANDEM_OUTPUT(y, f32)
  TANDEM_BUILD(x, total) {
    const Tensor sum = x.sum({1}) + total;
    return {as_y(x + 1), as_total(sum)};
  }
};

/// How often `work` asks for memory, after a first round that may.
template <typename Work>
int64_t allocations_of(const Work& work) {
  work();
  allocations = 0;
  counting = true;
  for (int i = 0; i < 10; i++) work();
  counting = false;
  return allocations;
}

class JitAllocation : public testing::TestWithParam<const char*> {
 protected:
  PrepareConfig config() {
    PrepareConfig out;
    out.backend_name = GetParam();
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, JitAllocation, testing::Values("native", "interpreter"));

TEST_P(JitAllocation, TheCounterCounts) {
  EXPECT_GE(allocations_of([] { delete new std::vector<int>(100); }), 10);
}

TEST_P(JitAllocation, ExecuteAllocatesNothing) {
  Running running(Nothing{});
  ASSERT_TRUE(running.prepare_with_config(config()));
  const std::vector<float> x(6, 1.0f);
  bool good = true;
  EXPECT_EQ(allocations_of([&] {
              good = good && running.x_mut()->copy_from(x, {2, 3}) && running.execute_with_vars({{"t", 3}}) &&
                     running.execute_bound(5) && running.execute() && running.y_view<float>();
            }),
            0);
  EXPECT_TRUE(good);
  EXPECT_EQ(running.y()->size(), 16u);
}

TEST_P(JitAllocation, StepAllocatesNothing) {
  Cell cell(Nothing{});
  ASSERT_TRUE(cell.prepare_with_config(config()));
  auto run = JitRecurrent<Cell>::make(std::move(cell), LstmState::zeros(4), 1);
  ASSERT_TRUE(run);
  const std::vector<float> x(16, 1.0f);
  bool good = true;
  EXPECT_EQ(allocations_of([&] { good = good && run->step([&](Cell& jit) { return jit.x_mut()->copy_from(x); }); }), 0);
  EXPECT_TRUE(good);
  EXPECT_EQ(run->state().c[3], 11.0f);
}

}  // namespace
}  // namespace tandem
