/* Matrices: D = A·B + C over the whole wave, EXEC ignored. Sums go over k in order, each step rounded to the result's type.
 *
 * Included by wave.h. `word` is C where `c` is NULL: one constant in all places.
 */
#ifndef STACKBUILD_MATRICES_H
#define STACKBUILD_MATRICES_H

enum element { ELEMENT_F64, ELEMENT_F32, ELEMENT_XF32, ELEMENT_F16, ELEMENT_BF16, ELEMENT_I8, ELEMENT_FP8, ELEMENT_BF8, ELEMENT_FP8_FNUZ, ELEMENT_BF8_FNUZ };
#define MATRIX_ELEMENTS (16 * LANES) /* of A or B in a wave, at most */

/* Element `at` of those that lane `l` holds in the registers from x on. */
API double double_element(const uint32_t *x, uint32_t l, int at, int kind)
{
    (void)kind;
    return bits_f64(x[2 * at * LANES + (int)l] | (uint64_t)x[(2 * at + 1) * LANES + (int)l] << 32);
}
API float float_element(const uint32_t *x, uint32_t l, int at, int kind)
{
    if (kind == ELEMENT_F32) return bits_f32(x[at * LANES + (int)l]);
    if (kind == ELEMENT_XF32) return round_xf32(bits_f32(x[at * LANES + (int)l]));
    if (kind >= ELEMENT_FP8) {
        uint32_t byte = x[at / 4 * LANES + (int)l] >> at % 4 * 8 & 0xff;
        return kind == ELEMENT_FP8 ? wide_fp8_u32(byte) : kind == ELEMENT_BF8 ? wide_bf8_u32(byte)
             : kind == ELEMENT_FP8_FNUZ ? wide_fp8fnuz_u32(byte) : wide_bf8fnuz_u32(byte);
    }
    uint32_t half = x[at / 2 * LANES + (int)l] >> at % 2 * 16 & 0xffff;
    return kind == ELEMENT_BF16 ? bits_bf16(half) : bits_f16(half);
}
API uint32_t int_element(const uint32_t *x, uint32_t l, int at, int kind)
{
    (void)kind;
    return (uint32_t)(int8_t)(x[at / 4 * LANES + (int)l] >> at % 4 * 8);
}

/* The lane whose elements of B a lane takes by BLGP. */
API uint32_t mfma_lane(uint32_t l, int pattern)
{
    switch (pattern) {
    case 0: return l;
    case 1: return l & 31;
    case 2: return l | 32;
    case 3: return (l + 16) & 63;
    default: return (l & 15) + (uint32_t)(pattern - 4) * 16;
    }
}
/* Where row i and column j of a block's D lie: register and lane. */
API void mfma_place(int M, int block, int i, int j, int *r, int *l)
{
    *r = M == 32 ? block * 16 + i / 8 * 4 + i % 4 : M == 16 ? block * 4 + i % 4 : i;
    *l = M == 32 ? i / 4 % 2 * 32 + j : M == 16 ? i / 4 * 16 + j : block * 4 + j;
}
/* The same of float64, the register being a pair. */
API void mfma_place_double(int M, int block, int i, int j, int *r, int *l)
{
    *r = M == 16 ? i / 4 : 0;
    *l = M == 16 ? i % 4 * 16 + j : i * 16 + block * 4 + j;
}
API float result_float(const uint32_t *p, int r, int l) { return bits_f32(p[r * LANES + l]); }
API uint32_t result_int(const uint32_t *p, int r, int l) { return p[r * LANES + l]; }
API double result_double(const uint32_t *p, int r, int l) { return bits_f64(p[2 * r * LANES + l] | (uint64_t)p[(2 * r + 1) * LANES + l] << 32); }
API void put_float(uint32_t *p, int r, int l, float x) { p[r * LANES + l] = canonical_f32(f32_bits(x)); }
API void put_int(uint32_t *p, int r, int l, uint32_t x) { p[r * LANES + l] = x; }
API void put_double(uint32_t *p, int r, int l, double x)
{
    uint64_t bits = canonical_f64(f64_bits(x));
    p[2 * r * LANES + l] = (uint32_t)bits;
    p[(2 * r + 1) * LANES + l] = (uint32_t)(bits >> 32);
}
API float step_float(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
API uint32_t step_int(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }
API double step_double(double a, double b, double c) { return __builtin_fma(a, b, c); }
API float word_float(uint64_t word) { return bits_f32((uint32_t)word); }
API uint32_t word_int(uint64_t word) { return (uint32_t)word; }
API double word_double(uint64_t word) { return bits_f64(word); }
API float negated_float(float x, int is_negative) { (void)is_negative; return x; }
API uint32_t negated_int(uint32_t x, int is_negative) { (void)is_negative; return x; }
API double negated_double(double x, int is_negative) { return is_negative ? -x : x; }

/* MFMA of waves of 64. CBSZ and ABID: groups of 2^CBSZ blocks take A of block ABID of their group. BLGP moves B among lanes; of
 * float64 its bits change the signs of A, B and C. Lane l holds row l % M of A (column of B) of block l / M % blocks. */
#define MFMA(NAME, T, PLACE, SIGNS) \
API void mfma_##NAME(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint64_t word, int M, int K, int blocks, int kind, int second, int cbsz, int abid, int blgp) \
{ \
    int per = M * K * blocks / LANES; \
    T A[MATRIX_ELEMENTS], B[MATRIX_ELEMENTS], D[32][32]; \
    for (uint32_t l = 0; l < LANES; l++) \
        for (int j = 0; j < per; j++) { \
            int at = (int)l % M, block = (int)l / M % blocks, k = (int)l / (M * blocks) * per + j; \
            A[(block * K + k) * M + at] = negated_##NAME(NAME##_element(a, l, j, kind), (SIGNS) & blgp & 1); \
            B[(block * K + k) * M + at] = negated_##NAME(NAME##_element(b, (SIGNS) ? l : mfma_lane(l, blgp), j, second), (SIGNS) & blgp & 2); \
        } \
    for (int block = 0; block < blocks; block++) { \
        const T *X = A + ((block >> cbsz << cbsz) + (cbsz ? abid : 0)) % blocks * K * M, *Y = B + block * K * M; \
        int r, l; \
        for (int i = 0; i < M; i++) \
            for (int j = 0; j < M; j++) { \
                PLACE(M, block, i, j, &r, &l); \
                D[i][j] = negated_##NAME(c ? result_##NAME(c, r, l) : word_##NAME(word), (SIGNS) & blgp & 4); \
            } \
        for (int i = 0; i < M; i++) \
            for (int k = 0; k < K; k++) \
                for (int j = 0; j < M; j++) D[i][j] = step_##NAME(X[k * M + i], Y[k * M + j], D[i][j]); \
        for (int i = 0; i < M; i++) \
            for (int j = 0; j < M; j++) { \
                PLACE(M, block, i, j, &r, &l); \
                put_##NAME(d, r, l, D[i][j]); \
            } \
    } \
}
MFMA(float, float, mfma_place, 0)
MFMA(int, uint32_t, mfma_place, 0)
MFMA(double, double, mfma_place_double, 7)
#undef MFMA

/* Where row i and column j of a WMMA's D lie. RDNA3: row LANES/16·r + lane/16; RDNA4: 256/LANES·(lane/16) + r. */
API void wmma_place(int i, int j, int rdna4, int *r, int *l)
{
    int groups = LANES / 16, per = 16 / groups;
    *r = rdna4 ? i % per : i / groups;
    *l = (rdna4 ? i / per : i % groups) * 16 + j;
}
/* RDNA3: every 16 lanes have all rows of A (columns of B), the others the same. RDNA4: each 16 lanes have a part of K,
 * four in a row, then four of the next part. */
API void wmma(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t word, int bf16, int half_out, int high, int rdna4)
{
    float A[16][16], B[16][16], D[16][16];
    int per = rdna4 ? 256 / LANES : 16, kind = bf16 ? ELEMENT_BF16 : ELEMENT_F16;
    for (uint32_t l = 0; l < (rdna4 ? LANES : 16); l++)
        for (int j = 0; j < per; j++) {
            int k = rdna4 ? j / 4 * (LANES / 4) + (int)l / 16 * 4 + j % 4 : j;
            A[k][l % 16] = float_element(a, l, j, kind);
            B[k][l % 16] = float_element(b, l, j, kind);
        }
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 16; j++) {
                int r, l;
                wmma_place(i, j, rdna4, &r, &l);
                int row = half_out && rdna4 ? r / 2 : r, shift = half_out ? (rdna4 ? (r & 1) * 16 : high * 16) : 0;
                uint32_t *p = d + row * LANES + l;
                if (pass == 0) {
                    uint32_t x = c ? c[row * LANES + l] : word;
                    D[i][j] = !half_out ? bits_f32(x) : bf16 ? bits_bf16(x >> shift & 0xffff) : bits_f16(x >> shift & 0xffff);
                } else if (!half_out) {
                    *p = canonical_f32(f32_bits(D[i][j]));
                } else {
                    uint32_t x = bf16 ? bf16_bits(D[i][j]) : canonical_f16(f16_bits(D[i][j]));
                    *p = (*p & ~(0xffffu << shift)) | x << shift;
                }
            }
        if (pass == 0)
            for (int i = 0; i < 16; i++)
                for (int k = 0; k < 16; k++)
                    for (int j = 0; j < 16; j++) D[i][j] = __builtin_fmaf(A[k][i], B[k][j], D[i][j]);
    }
}
/* A WMMA of integers of `bits` bits. `flags`: 1 A has signs, 2 B has signs, 4 the sum saturates instead of wrapping. */
API void wmma_int(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t word, int K, int bits, int flags, int rdna4)
{
    int64_t A[32][16], B[32][16], D[16][16];
    int per = rdna4 ? K * 16 / LANES : K, in_word = 32 / bits, left = 64 - bits;
    for (uint32_t l = 0; l < (rdna4 ? LANES : 16); l++)
        for (int j = 0; j < per; j++) {
            int k = (int)l / 16 * per + j;
            uint64_t x = (uint64_t)(a[j / in_word * LANES + (int)l] >> j % in_word * bits) << left;
            uint64_t y = (uint64_t)(b[j / in_word * LANES + (int)l] >> j % in_word * bits) << left;
            A[k][l % 16] = flags & 1 ? (int64_t)x >> left : (int64_t)(x >> left);
            B[k][l % 16] = flags & 2 ? (int64_t)y >> left : (int64_t)(y >> left);
        }
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            int r, l;
            wmma_place(i, j, rdna4, &r, &l);
            int64_t sum = (int32_t)(c ? c[r * LANES + l] : word);
            for (int k = 0; k < K; k++) sum += A[k][i] * B[k][j];
            D[i][j] = !(flags & 4) ? sum : sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
        }
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            int r, l;
            wmma_place(i, j, rdna4, &r, &l);
            d[r * LANES + l] = (uint32_t)D[i][j];
        }
}
#endif
