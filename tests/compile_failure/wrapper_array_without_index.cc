// expect: taps_mut
#include <tandem/tandem.h>

struct Model {};

struct Adder : tandem::Wrapper<Adder, Model> {
  using Wrapper::Wrapper;
  TANDEM_INPUT_ARRAY(taps, 2)
  TANDEM_BUILD(taps) { return taps[0] + taps[1]; }
};

void use(Adder& adder) { (void)adder.taps_mut(); }
