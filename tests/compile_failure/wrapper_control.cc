// expect: compiles
#include <tandem/tandem.h>

struct Model {};

struct Adder : tandem::Wrapper<Adder, Model> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, 8)
  TANDEM_INPUT(left)
  TANDEM_INPUT(right)
  TANDEM_STATE(total, f32, 4)
  TANDEM_OUTPUT(sum, f32)
  TANDEM_BUILD(left, right, total, t) { return {as_sum(left + right), as_total(total + size_tensor(t, left.dtype()))}; }
};

void use(Adder& adder) {
  (void)adder.prepare(tandem::f32({4}), tandem::f32({4}));
  (void)adder.execute_bound(3);
  (void)adder.sum_view<float>();
}
