extern "C" int mlirRock(void) { return 42; }
