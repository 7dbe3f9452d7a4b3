// expect: "execute" is a method of every wrapper
#include <tandem/tandem.h>

struct Model {};

struct Adder : tandem::Wrapper<Adder, Model> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(left)
  TANDEM_OUTPUT(execute)
  TANDEM_BUILD(left) { return {as_execute(left + 1)}; }
};
