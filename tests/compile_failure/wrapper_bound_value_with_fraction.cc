// expect: execute_bound() takes whole numbers
#include <tandem/tandem.h>

struct Model {};

struct Adder : tandem::Wrapper<Adder, Model> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, 8)
  TANDEM_INPUT(left, f32, t)
  TANDEM_BUILD(left) { return left + 1; }
};

void use(Adder& adder) { (void)adder.execute_bound(2.5); }
