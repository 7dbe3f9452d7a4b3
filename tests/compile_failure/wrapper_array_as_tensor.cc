// An array of inputs is no tensor: its elements are.
// expect: taps_MUST_BE_A_DECLARED_INPUT_STATE_OR_VARIABLE
#include <tandem/tandem.h>

struct Model {};

struct Adder : tandem::Wrapper<Adder, Model> {
  using Wrapper::Wrapper;
  TANDEM_INPUT_ARRAY(taps, 2)
  TANDEM_BUILD(taps) { return taps + 1; }
};
