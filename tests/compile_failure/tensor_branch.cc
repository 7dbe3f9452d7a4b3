// A branch on a tensor would fix the graph to one side of it.
// expect: a Tensor has no values while the graph is built: use where()
#include "core/tensor/tensor.h"

int branch(const tandem::Tensor& x) {
  if (less(x, 0)) return 1;
  return 0;
}
