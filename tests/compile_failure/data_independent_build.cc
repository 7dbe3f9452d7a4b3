// The correct example of core/jit/README.md.
// expect: compiles
#include <tandem/tandem.h>

struct Model {
  double slope = 0.1;
};

struct Leaky : tandem::Wrapper<Leaky, Model> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(x)
  TANDEM_BUILD(x) { return where(less(x, 0), x * model.slope, x); }
};
