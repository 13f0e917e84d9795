extern "C" int protobuf(void) { return 0; }
