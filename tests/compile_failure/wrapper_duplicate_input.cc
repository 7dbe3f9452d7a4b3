// expect: left_slot_
#include <tandem/tandem.h>

struct Model {};

struct Adder : tandem::Wrapper<Adder, Model> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(left)
  TANDEM_INPUT(left)
  TANDEM_BUILD(left) { return left + 1; }
};
