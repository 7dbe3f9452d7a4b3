// The incorrect example of core/jit/README.md: it would fix the graph to what one step saw.
// expect: a Tensor has no values while the graph is built
#include <tandem/tandem.h>

struct Model {
  double slope = 0.1;
};

struct Leaky : tandem::Wrapper<Leaky, Model> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(x)
  TANDEM_BUILD(x) {
    if (x.item() < 0) return x * model.slope;
    return x;
  }
};
