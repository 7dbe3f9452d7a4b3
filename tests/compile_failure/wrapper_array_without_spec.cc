// expect: taps_GETS_NO_InputSpec
#include <tandem/tandem.h>

struct Model {
  int count = 2;
};

struct Adder : tandem::Wrapper<Adder, Model> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(left)
  TANDEM_INPUT_ARRAY(taps, model.count)
  TANDEM_BUILD(left, taps) { return left + taps[0]; }
};

void use(Adder& adder) { (void)adder.prepare(tandem::f32({4})); }
