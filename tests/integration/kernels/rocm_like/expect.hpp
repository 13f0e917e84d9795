// How the programs here check: the first thing that is not so ends them with 1 and is named.
#pragma once

#include <cstdio>
#include <cstdlib>

#define EXPECT(condition)                                         \
  do {                                                            \
    if (!(condition)) {                                           \
      std::printf("line %d: not so: %s\n", __LINE__, #condition); \
      std::exit(1);                                               \
    }                                                             \
  } while (0)
