// expect: f23
#include <tandem/tandem.h>

struct Model {};

struct Adder : tandem::Wrapper<Adder, Model> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(left, f23, 4)
  TANDEM_BUILD(left) { return left + 1; }
};
