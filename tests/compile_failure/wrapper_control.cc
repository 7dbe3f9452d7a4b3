// expect: compiles
#include <tandem/tandem.h>

struct Model {
  int64_t taps = 2;
};

struct Adder : tandem::Wrapper<Adder, Model> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, 8)
  TANDEM_INPUT(left)
  TANDEM_INPUT(right)
  TANDEM_STATE(total, f32, 4)
  TANDEM_OUTPUT(sum, f32)
  TANDEM_INPUT_ARRAY(taps, model.taps)
  TANDEM_OUTPUT_ARRAY(echoes, 2)
  TANDEM_BUILD(left, right, total, t, taps) {
    return {as_sum(left + right), as_total(total + size_tensor(t, left.dtype())), as_echoes({taps[0], taps[1] * 2})};
  }
};

void use(Adder& adder) {
  (void)adder.prepare(tandem::f32({4}), tandem::f32({4}), tandem::InputSpecs{tandem::f32({1}), tandem::f32({2})});
  (void)adder.taps_view<float>(1);
  (void)adder.echoes(0);
  (void)adder.execute_bound(3);
  (void)adder.sum_view<float>();
}
