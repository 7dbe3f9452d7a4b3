// expect: lefft_MUST_BE_A_DECLARED_INPUT_STATE_OR_VARIABLE
#include <tandem/tandem.h>

struct Model {};

struct Adder : tandem::Wrapper<Adder, Model> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(left)
  TANDEM_BUILD(lefft) { return lefft + 1; }
};
