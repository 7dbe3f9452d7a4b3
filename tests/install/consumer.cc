#include <tandem/tandem.h>

int main() { return 0; }
