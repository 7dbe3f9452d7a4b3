// expect: build
// expect: Adder
#include <tandem/tandem.h>

struct Model {};

struct Adder : tandem::Wrapper<Adder, Model> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(left)
};

void use(Adder& adder) { (void)adder.prepare(tandem::f32({4})); }
