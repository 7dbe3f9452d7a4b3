// expect: prepare() takes one InputSpec for each TANDEM_INPUT that states no shape
// expect: right_GETS_NO_InputSpec
#include <tandem/tandem.h>

struct Model {};

struct Adder : tandem::Wrapper<Adder, Model> {
  using Wrapper::Wrapper;
  TANDEM_VAR(b, 1, 4)
  TANDEM_VAR(t, 1, 8)
  TANDEM_INPUT(left)
  TANDEM_INPUT(right)
  TANDEM_BUILD(left, right) { return left + right; }
};

void use(Adder& adder) { (void)adder.prepare(tandem::f32({4})); }
