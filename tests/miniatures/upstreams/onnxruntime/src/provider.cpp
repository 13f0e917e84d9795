extern "C" int GetProvider(void) { return 1; }
