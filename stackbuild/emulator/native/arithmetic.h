/* Arithmetic of AMD's pseudocode in C, one lane at a time. Compile without fast-math and without contraction of products and sums. */
#ifndef STACKBUILD_ARITHMETIC_H
#define STACKBUILD_ARITHMETIC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define PURE static inline __attribute__((always_inline, unused))

PURE uint32_t f32_bits(float x) { uint32_t r; memcpy(&r, &x, 4); return r; }
PURE float bits_f32(uint32_t x) { float r; memcpy(&r, &x, 4); return r; }
PURE uint64_t f64_bits(double x) { uint64_t r; memcpy(&r, &x, 8); return r; }
PURE double bits_f64(uint64_t x) { double r; memcpy(&r, &x, 8); return r; }

/* float16 in float. Integer arithmetic alone, so that loops over lanes become vector code on any x86-64. */
PURE float bits_f16(uint32_t h)
{
    uint32_t sign = (h & 0x8000u) << 16, rest = h & 0x7fffu;
    float normal = bits_f32((rest << 13) + 0x38000000u);
    float small = bits_f32(0x38800000u + (rest << 13)) - bits_f32(0x38800000u); /* 2^-14 + rest·2^-24 − 2^-14 */
    uint32_t bits = rest >= 0x7c00u ? 0x7f800000u | (rest & 0x3ffu) << 13 : rest < 0x400u ? f32_bits(small) : f32_bits(normal);
    return bits_f32(sign | bits);
}
PURE uint32_t f16_bits(float x)
{
    uint32_t b = f32_bits(x), sign = b >> 16 & 0x8000u, rest = b & 0x7fffffffu;
    uint32_t normal = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1)) >> 13;
    uint32_t small = f32_bits(bits_f32(rest) + 0.5f) - 0x3f000000u; /* units of 2^-24, rounded to even by the sum */
    uint32_t r = rest > 0x7f800000u ? 0x7e00u : rest >= 0x477ff000u ? 0x7c00u : rest < 0x38800000u ? small : normal;
    return (rest > 0x7f800000u ? 0 : sign) | r; /* one number stands for all that are none */
}
PURE float round_f16(float x) { return bits_f16(f16_bits(x)); }
/* Rounds a double to odd in float, so that a second rounding to fewer bits is right. */
PURE float odd_f32(double x)
{
    float r = (float)x;
    uint32_t b = f32_bits(r);
    int inexact = (double)r != x && r == r && fabs(x) < 1e38;
    int over = fabs((double)r) > fabs(x);
    uint32_t down = over ? b - 1 : b;
    return bits_f32(inexact ? down | 1 : b);
}
PURE float round_f16_d(double x) { return round_f16(odd_f32(x)); }
PURE float bits_bf16(uint32_t h) { return bits_f32(h << 16); }
PURE uint32_t bf16_bits(float x)
{
    uint32_t b = f32_bits(x);
    return x != x ? 0x7fc0u : (b + 0x7fffu + (b >> 16 & 1)) >> 16;
}
PURE float round_bf16(float x) { return bits_bf16(bf16_bits(x)); }
PURE float round_bf16_d(double x) { return round_bf16(odd_f32(x)); }

/* xf32 of CDNA3: a float with ten bits behind the point. The guide does not say how it rounds; here to the nearest even. */
PURE float round_xf32(float x)
{
    uint32_t b = f32_bits(x);
    return (b & 0x7f800000u) == 0x7f800000u ? x : bits_f32((b + 0xfffu + (b >> 13 & 1)) & ~0x1fffu);
}

/* Floats of eight bits: `mantissa` is 3 (fp8) or 2 (bf8). OCP's fp8 has no infinity; fnuz has one zero, one NaN and no infinity. */
PURE float wide_small(uint32_t x, int mantissa, int fnuz)
{
    int bias = (1 << (6 - mantissa)) - 1 + fnuz;
    uint32_t exponent = (x & 0x7fu) >> mantissa, rest = x & ((1u << mantissa) - 1), sign = (x & 0x80u) << 24;
    int scale = (int)(exponent ? exponent : 1) - bias - mantissa;
    float number = (float)(int)(exponent ? rest | 1u << mantissa : rest) * bits_f32((uint32_t)(127 + scale) << 23);
    int not_number = fnuz ? x == 0x80 : mantissa == 3 ? (x & 0x7fu) == 0x7fu : (x & 0x7fu) > 0x7cu;
    int infinite = !fnuz && mantissa == 2 && (x & 0x7fu) == 0x7cu;
    return bits_f32(not_number ? 0x7fc00000u : sign | (infinite ? 0x7f800000u : f32_bits(number)));
}
/* Rounded to the nearest even. What is too large becomes an infinity, or NaN where there is none. */
PURE uint32_t narrow_small(float x, int mantissa, int fnuz)
{
    int least = 2 - (1 << (6 - mantissa)) - fnuz; /* the exponent of the least normal number */
    uint32_t b = f32_bits(x), sign = b >> 24 & 0x80u, rest = b & 0x7fffffffu;
    int exponent = (int)(rest >> 23) - 127;
    int at = exponent < least ? least : exponent;
    if (rest > 0x7f800000u) return fnuz ? 0x80u : 0x7fu;
    uint32_t over = fnuz ? 0x80u : sign | (mantissa == 3 ? 0x7fu : 0x7cu);
    if (exponent > 16) return over;
    float units = rintf(bits_f32(rest) * bits_f32((uint32_t)(127 - at + mantissa) << 23));
    uint32_t code = (uint32_t)(at - least) * (1u << mantissa) + (uint32_t)units;
    if (code > (fnuz ? 0x7fu : mantissa == 3 ? 0x7eu : 0x7bu)) return over;
    return code ? sign | code : fnuz ? 0 : sign;
}
PURE float wide_fp8_u32(uint32_t x) { return wide_small(x, 3, 0); }
PURE float wide_bf8_u32(uint32_t x) { return wide_small(x, 2, 0); }
PURE float wide_fp8fnuz_u32(uint32_t x) { return wide_small(x, 3, 1); }
PURE float wide_bf8fnuz_u32(uint32_t x) { return wide_small(x, 2, 1); }
PURE uint32_t narrow_fp8_f32(float x) { return narrow_small(x, 3, 0); }
PURE uint32_t narrow_bf8_f32(float x) { return narrow_small(x, 2, 0); }
PURE uint32_t narrow_fp8fnuz_f32(float x) { return narrow_small(x, 3, 1); }
PURE uint32_t narrow_bf8fnuz_f32(float x) { return narrow_small(x, 2, 1); }

/* Numbers that are no number become the canonical ones. */
PURE uint32_t canonical_f32(uint32_t b) { return (b & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : b; }
PURE uint32_t canonical_f16(uint32_t b) { return (b & 0x7fffu) > 0x7c00u ? 0x7e00u : b; }
PURE uint64_t canonical_f64(uint64_t b) { return (b & 0x7fffffffffffffffull) > 0x7ff0000000000000ull ? 0x7ff8000000000000ull : b; }

#define INTO_INT(name, T, from, low, high) \
    PURE T name(from x) { return x != x ? 0 : x <= (low) ? (T)(low) : x >= (high) ? (T)~((T)1 << (sizeof(T) * 8 - 1) & ((T)-1 < 0 ? (T)-1 : 0)) : (T)x; }
PURE int32_t f32_to_i32(float x) { return x != x ? 0 : x <= -0x1p31f ? INT32_MIN : x >= 0x1p31f ? INT32_MAX : (int32_t)x; }
PURE uint32_t f32_to_u32(float x) { return !(x > 0) ? 0 : x >= 0x1p32f ? UINT32_MAX : (uint32_t)(int64_t)x; }
PURE int32_t f64_to_i32(double x) { return x != x ? 0 : x <= -0x1p31 ? INT32_MIN : x >= 0x1p31 ? INT32_MAX : (int32_t)x; }
PURE uint32_t f64_to_u32(double x) { return !(x > 0) ? 0 : x >= 0x1p32 ? UINT32_MAX : (uint32_t)(int64_t)x; }
PURE int64_t f32_to_i64(float x) { return x != x ? 0 : x <= -0x1p63f ? INT64_MIN : x >= 0x1p63f ? INT64_MAX : (int64_t)x; }
PURE uint64_t f32_to_u64(float x) { return !(x > 0) ? 0 : x >= 0x1p64f ? UINT64_MAX : (uint64_t)x; }
PURE int64_t f64_to_i64(double x) { return x != x ? 0 : x <= -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (int64_t)x; }
PURE uint64_t f64_to_u64(double x) { return !(x > 0) ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x; }
PURE int32_t saturate_i(double x, int bits)
{
    double high = (double)((1ll << (bits - 1)) - 1);
    return x != x ? 0 : x <= -high - 1 ? (int32_t)(-high - 1) : x >= high ? (int32_t)high : (int32_t)x;
}
PURE uint32_t saturate_u(double x, int bits)
{
    double high = (double)((1ll << bits) - 1);
    return !(x > 0) ? 0 : x >= high ? (uint32_t)high : (uint32_t)(int64_t)x;
}

#define SHIFTS(K, T, N) \
    PURE T shift_left_##K##N(T x, uint32_t n) { return n >= N ? 0 : (T)(x << (n & (N - 1))); } \
    PURE T shift_right_##K##N(T x, uint32_t n) { return n >= N ? (x < 0 ? (T)-1 : 0) : (T)(x >> (n & (N - 1))); }
SHIFTS(u, uint32_t, 32)
SHIFTS(i, int32_t, 32)
SHIFTS(u, uint64_t, 64)
SHIFTS(i, int64_t, 64)
SHIFTS(u, unsigned __int128, 128)

PURE float fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
PURE double fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }
/* The product of two float16 is exact in double; the sum is rounded to odd first, then to float16. */
PURE float fma_f16(float a, float b, float c)
{
    double p = (double)a * (double)b, s = p + (double)c, t = s - p, e = (p - (s - t)) + ((double)c - t);
    uint64_t bits = f64_bits(s);
    int grows = (e > 0) == (s > 0);
    uint64_t odd = bits & 1 ? bits : grows ? bits | 1 : bits - 1;
    return round_f16_d(e != 0 && s - s == 0 ? bits_f64(odd) : s);
}

/* IEEE (0 or 1) is the mode in which minimum and maximum of a signalling NaN are that NaN, made quiet. */
#ifndef IEEE
#define IEEE 0
#endif
#define SIGNALS(S, x) (IEEE && isSignalNAN_##S(x))
#define FLOATS(S, T, F, B, exponent_shift, exponent_mask, mantissa_bits, quiet) \
    PURE T floor_##S(T x) { return __builtin_floor##F(x); } \
    PURE T trunc_##S(T x) { return __builtin_trunc##F(x); } \
    PURE T ceil_##S(T x) { return __builtin_ceil##F(x); } \
    PURE T rint_##S(T x) { return __builtin_rint##F(x); } \
    PURE T abs_##S(T x) { return __builtin_fabs##F(x); } \
    PURE uint32_t isNAN_##S(T x) { return x != x; } \
    PURE uint32_t sign_##S(T x) { return (uint32_t)(S##_bits(x) >> (sizeof(B) * 8 - 1)) & 1; } \
    PURE uint32_t isSignalNAN_##S(T x) { return x != x && !(S##_bits(x) >> (mantissa_bits - 1) & 1); } \
    PURE uint32_t isQuietNAN_##S(T x) { return x != x && (S##_bits(x) >> (mantissa_bits - 1) & 1); } \
    PURE T cvtToQuietNAN_##S(T x) { return bits_##S(S##_bits(x) | (B)1 << (mantissa_bits - 1)); } \
    PURE int32_t exponent_##S(T x) { return (int32_t)(S##_bits(x) >> exponent_shift & exponent_mask); } \
    PURE T atomic_max_##S(T a, T b) { return a != a ? b : b != b ? a : a > b ? a : b > a ? b : bits_##S(S##_bits(a) & S##_bits(b)); } \
    PURE T atomic_min_##S(T a, T b) { return a != a ? b : b != b ? a : a < b ? a : b < a ? b : bits_##S(S##_bits(a) | S##_bits(b)); } \
    PURE T maxnum_##S(T a, T b) { return SIGNALS(S, a) ? cvtToQuietNAN_##S(a) : SIGNALS(S, b) ? cvtToQuietNAN_##S(b) : atomic_max_##S(a, b); } \
    PURE T minnum_##S(T a, T b) { return SIGNALS(S, a) ? cvtToQuietNAN_##S(a) : SIGNALS(S, b) ? cvtToQuietNAN_##S(b) : atomic_min_##S(a, b); } \
    PURE uint32_t isEven_##S(T x) { return __builtin_floor##F(x / 2) * 2 == x; }
FLOATS(f32, float, f, uint32_t, 23, 0xff, 23, 0x400000u)
FLOATS(f64, double, , uint64_t, 52, 0x7ff, 52, 0x8000000000000ull)
#undef FLOATS
PURE float floor_f16(float x) { return floor_f32(x); }
PURE float trunc_f16(float x) { return trunc_f32(x); }
PURE float ceil_f16(float x) { return ceil_f32(x); }
PURE float rint_f16(float x) { return rint_f32(x); }
PURE float abs_f16(float x) { return abs_f32(x); }
PURE uint32_t isNAN_f16(float x) { return x != x; }
PURE uint32_t sign_f16(float x) { return sign_f32(x); }
PURE int32_t exponent_f16(float x) { return (int32_t)(f16_bits(x) >> 10 & 31); }
PURE uint32_t isSignalNAN_f16(float x) { return isSignalNAN_f32(x); }
PURE uint32_t isQuietNAN_f16(float x) { return isQuietNAN_f32(x); }
PURE float cvtToQuietNAN_f16(float x) { return cvtToQuietNAN_f32(x); }
PURE uint32_t isEven_f16(float x) { return isEven_f32(x); }
PURE float maxnum_f16(float a, float b) { return maxnum_f32(a, b); }
PURE float minnum_f16(float a, float b) { return minnum_f32(a, b); }
/* Denormals as zeros of their sign. */
PURE float flush_f32(float x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x; }
PURE float fract_f32(float x) { float r = x - __builtin_floorf(x); return r >= 1.0f ? 0x1.fffffep-1f : r; }
PURE float fract_f16(float x) { float r = round_f16(x - __builtin_floorf(x)); return r >= 1.0f ? 0x1.ffcp-1f : r; }
PURE double fract_f64(double x) { double r = x - __builtin_floor(x); return r >= 1.0 ? 0x1.fffffffffffffp-1 : r; }

/* Functions that the guides give an error bound for: here the nearest number to the result in double. */
PURE float sqrt_f32(float x) { return __builtin_sqrtf(x); }
PURE double sqrt_f64(double x) { return __builtin_sqrt(x); }
PURE float sqrt_f16(float x) { return round_f16(__builtin_sqrtf(x)); }
PURE float rcp_f32(float x) { return 1.0f / x; }
PURE double rcp_f64(double x) { return 1.0 / x; }
PURE float rcp_f16(float x) { return round_f16(1.0f / x); }
PURE float rsq_f32(float x) { return (float)(1.0 / __builtin_sqrt((double)x)); }
PURE double rsq_f64(double x) { return 1.0 / __builtin_sqrt(x); }
PURE float rsq_f16(float x) { return round_f16_d(1.0 / __builtin_sqrt((double)x)); }
/* 2^x: 2^round(x) times a polynomial of degree 11 in double, which is off by less than 2^-50. */
PURE double exp2_core(double x)
{
    double whole = __builtin_rint(x), t = (x - whole) * 0.69314718055994530942, p = 1.0 / 39916800;
    p = p * t + 1.0 / 3628800;
    p = p * t + 1.0 / 362880;
    p = p * t + 1.0 / 40320;
    p = p * t + 1.0 / 5040;
    p = p * t + 1.0 / 720;
    p = p * t + 1.0 / 120;
    p = p * t + 1.0 / 24;
    p = p * t + 1.0 / 6;
    p = p * t + 0.5;
    p = p * t + 1.0;
    p = p * t + 1.0;
    return p * bits_f64((uint64_t)(int64_t)((int32_t)whole + 1023) << 52);
}
PURE float exp2_f32(float x)
{
    double y = x;
    y = y > 200.0 ? 200.0 : y < -200.0 ? -200.0 : y;
    float r = (float)exp2_core(x == x ? y : 0.0);
    return x != x ? x : r;
}
PURE float exp2_f16(float x) { return round_f16(exp2_f32(x)); }
PURE float log2_f32(float x) { return (float)log2((double)x); }
PURE float log2_f16(float x) { return round_f16_d(log2((double)x)); }
PURE float sin_f32(float x) { return (float)sin((double)x); }
PURE float cos_f32(float x) { return (float)cos((double)x); }
PURE float sin_f16(float x) { return round_f16_d(sin((double)x)); }
PURE float cos_f16(float x) { return round_f16_d(cos((double)x)); }

/* x·2^n, rounded once: the exponent is clamped to where the result is infinite or zero anyway. */
PURE float ldexp_f32(float x, int32_t n)
{
    n = n > 300 ? 300 : n < -300 ? -300 : n;
    return (float)((double)x * bits_f64((uint64_t)(int64_t)(n + 1023) << 52));
}
PURE float ldexp_f16(float x, int32_t n)
{
    n = n > 60 ? 60 : n < -60 ? -60 : n;
    return round_f16(x * bits_f32((uint32_t)(n + 127) << 23));
}
PURE double ldexp_f64(double x, int32_t n) { return ldexp(x, n); }
PURE int32_t frexp_exp_f32(float x)
{
    int e = 0;
    if (x == x && x - x == 0) frexp((double)x, &e);
    return e;
}
PURE float frexp_mant_f32(float x)
{
    int e;
    return x - x == 0 ? (float)frexp((double)x, &e) : x;
}
PURE int32_t frexp_exp_f64(double x)
{
    int e = 0;
    if (x - x == 0) frexp(x, &e);
    return e;
}
PURE double frexp_mant_f64(double x)
{
    int e;
    return x - x == 0 ? frexp(x, &e) : x;
}

PURE uint32_t reverse_u32(uint32_t x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
PURE uint64_t reverse_u64(uint64_t x) { return (uint64_t)reverse_u32((uint32_t)x) << 32 | reverse_u32((uint32_t)(x >> 32)); }
PURE uint32_t countbits_u32(uint32_t x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    return ((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
PURE uint32_t countbits_u64(uint64_t x) { return countbits_u32((uint32_t)x) + countbits_u32((uint32_t)(x >> 32)); }
PURE int32_t ctz_u32(uint32_t x) { return x ? __builtin_ctz(x) : -1; }
PURE int32_t ctz_u64(uint64_t x) { return x ? __builtin_ctzll(x) : -1; }
PURE int32_t clz_u32(uint32_t x) { return x ? __builtin_clz(x) : -1; }
PURE int32_t clz_u64(uint64_t x) { return x ? __builtin_clzll(x) : -1; }
PURE uint32_t maxint_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }
PURE uint32_t minint_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }
PURE int32_t maxint_i32(int32_t a, int32_t b) { return a > b ? a : b; }
PURE int32_t minint_i32(int32_t a, int32_t b) { return a < b ? a : b; }
PURE uint64_t maxint_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }
PURE uint64_t minint_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
PURE int64_t maxint_i64(int64_t a, int64_t b) { return a > b ? a : b; }
PURE int64_t minint_i64(int64_t a, int64_t b) { return a < b ? a : b; }
/* v_perm_b32: byte `sel` of eight, or a sign, 0 or 0xff. */
PURE uint32_t perm_u64(uint64_t data, uint32_t sel)
{
    uint32_t byte = (uint32_t)(data >> (sel & 7) * 8) & 0xff;
    uint32_t sign = (uint32_t)(data >> ((sel & 3) * 16 + 15)) & 1 ? 0xff : 0;
    return sel >= 13 ? 0xff : sel == 12 ? 0 : sel >= 8 ? sign : byte;
}

/* Division by v_div_scale, v_div_fmas and v_div_fixup. */
PURE uint32_t div_scale_vcc_f32(float s0, float denominator, float numerator)
{
    int e1 = exponent_f32(denominator), e2 = exponent_f32(numerator);
    double inverse = 1.0 / (double)denominator;
    float quotient = numerator / denominator;
    int tiny_inverse = fabs(inverse) < 0x1p-126, tiny = fabsf(quotient) < 0x1p-126f && quotient != 0;
    (void)s0;
    if (numerator == 0 || denominator == 0) return 0;
    if (e2 - e1 >= 96) return 1;
    if (denominator - denominator == 0 && e1 == 0) return 0;
    return (tiny_inverse && tiny) || (!tiny_inverse && tiny);
}
PURE float div_scale_f32(float s0, float denominator, float numerator)
{
    int e1 = exponent_f32(denominator), e2 = exponent_f32(numerator);
    double inverse = 1.0 / (double)denominator;
    float quotient = numerator / denominator, up = ldexp_f32(s0, 64), down = ldexp_f32(s0, -64);
    int tiny_inverse = fabs(inverse) < 0x1p-126, tiny = fabsf(quotient) < 0x1p-126f && quotient != 0;
    int is_denominator = f32_bits(s0) == f32_bits(denominator), is_numerator = f32_bits(s0) == f32_bits(numerator);
    if (numerator == 0 || denominator == 0) return bits_f32(0x7fc00000u);
    if (e2 - e1 >= 96) return is_denominator ? up : s0;
    if (e1 == 0) return up;
    if (tiny_inverse && tiny) return is_denominator ? up : s0;
    if (tiny_inverse) return down;
    if (tiny) return is_numerator ? up : s0;
    return e2 <= 23 ? up : s0;
}
PURE float div_fixup_f32(float s0, float denominator, float numerator)
{
    uint32_t sign = (f32_bits(denominator) ^ f32_bits(numerator)) & 0x80000000u;
    int e1 = exponent_f32(denominator), e2 = exponent_f32(numerator);
    float a1 = fabsf(denominator), a2 = fabsf(numerator), r = fabsf(s0);
    if (numerator != numerator || denominator != denominator) return bits_f32(0x7fc00000u);
    if (a1 == 0 && a2 == 0) return bits_f32(0xffc00000u);
    if (a1 == INFINITY && a2 == INFINITY) return bits_f32(0xffc00000u);
    if (a1 == 0 || a2 == INFINITY) r = INFINITY;
    else if (a1 == INFINITY || a2 == 0) r = 0;
    else if (e2 - e1 < -150) r = 0;
    return bits_f32(f32_bits(r) | sign);
}
PURE float div_fixup_f16(float s0, float denominator, float numerator)
{
    uint32_t sign = (f32_bits(denominator) ^ f32_bits(numerator)) & 0x80000000u;
    float a1 = fabsf(denominator), a2 = fabsf(numerator), r = fabsf(s0);
    if (numerator != numerator || denominator != denominator) return bits_f32(0x7fc00000u);
    if ((a1 == 0 && a2 == 0) || (a1 == INFINITY && a2 == INFINITY)) return bits_f32(0xffc00000u);
    if (a1 == 0 || a2 == INFINITY) r = INFINITY;
    else if (a1 == INFINITY || a2 == 0) r = 0;
    return bits_f32(f32_bits(r) | sign);
}
/* The same in float64, scaled by 2^128. */
PURE uint32_t div_scale_vcc_f64(double s0, double denominator, double numerator)
{
    int e1 = exponent_f64(denominator), e2 = exponent_f64(numerator);
    double quotient = numerator / denominator;
    (void)s0;
    if (numerator == 0 || denominator == 0) return 0;
    if (e2 - e1 >= 768) return 1;
    return e1 != 0 && fabs(quotient) < 0x1p-1022 && quotient != 0;
}
PURE double div_scale_f64(double s0, double denominator, double numerator)
{
    int e1 = exponent_f64(denominator), e2 = exponent_f64(numerator);
    double quotient = numerator / denominator, up = ldexp_f64(s0, 128), down = ldexp_f64(s0, -128);
    int tiny_inverse = fabs(1.0 / denominator) < 0x1p-1022, tiny = fabs(quotient) < 0x1p-1022 && quotient != 0;
    int is_denominator = f64_bits(s0) == f64_bits(denominator), is_numerator = f64_bits(s0) == f64_bits(numerator);
    if (numerator == 0 || denominator == 0) return bits_f64(0x7ff8000000000000ull);
    if (e2 - e1 >= 768) return is_denominator ? up : s0;
    if (e1 == 0) return up;
    if (tiny_inverse && tiny) return is_denominator ? up : s0;
    if (tiny_inverse) return down;
    if (tiny) return is_numerator ? up : s0;
    return e2 <= 53 ? up : s0;
}
PURE double div_fixup_f64(double s0, double denominator, double numerator)
{
    uint64_t sign = (f64_bits(denominator) ^ f64_bits(numerator)) & 0x8000000000000000ull;
    double a1 = fabs(denominator), a2 = fabs(numerator), r = fabs(s0);
    if (numerator != numerator || denominator != denominator) return bits_f64(0x7ff8000000000000ull);
    if ((a1 == 0 && a2 == 0) || (a1 == INFINITY && a2 == INFINITY)) return bits_f64(0xfff8000000000000ull);
    if (a1 == 0 || a2 == INFINITY) r = INFINITY;
    else if (a1 == INFINITY || a2 == 0) r = 0;
    else if (exponent_f64(numerator) - exponent_f64(denominator) < -1075) r = 0;
    return bits_f64(f64_bits(r) | sign);
}
#endif
