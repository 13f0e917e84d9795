extern "C" int mlirRock(void);
extern "C" int protobuf(void);
extern "C" int migraphx_answer(void) { return mlirRock() + protobuf() + static_cast<int>(sizeof(TARGETS)) * 0; }
