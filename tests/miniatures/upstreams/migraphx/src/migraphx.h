int migraphx_answer(void);
