"""A code object for gfx1100 with a line table: one kernel, which doubles `count` values.

Compiled by clang 21 (`-x hip --offload-arch=gfx1100 --offload-device-only --no-gpu-bundle-output -gline-tables-only -O2
lines.hip`) from SOURCE.
"""

from __future__ import annotations

import base64
import zlib

SOURCE = """\
#include <hip/hip_runtime.h>
extern "C" __global__ void beyond(float *values, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float twice = values[i] * 2.0f;
    if (i < count)
        values[i] = twice;
}
"""
_COMPRESSED = (
    "eNrtWF+MFEUar+o/u7OsyOxiXFGR4WRRcm7t7gFmQdQloJ5mQSR3UePFvp7umpl2Z7rH7plhl4Cu/yLGF+XOBy85Nz4gKAFB0CB3EfyT6AtR"
    "o6c+oGKMxvgiRj2IGtevuqt6etptZjA+qZV0f12/ql9/X1dXfd9XdedVI1dLGA8rKCgyOoYwqpdhLg93BXKljw2hDrifg85GbVBXIv3i8iRu"
    "lCmOY85LKsOpRonSdZ7KHjo4PqdRTkiNMspjtk508vY/Nsoy7z6hTM87znnHL2uUKPI9UZ7Uoj4hxWeu/6RiKqdhp9B7A/Da0OkXhV9DfLzi"
    "8r9KoxTD0w7Xdqhk2JxYs/qadX9F6J7deskseDoZpa5Ni97DH6DubUR3897kvbuJbpou9TzNK+sGfSJfdLJ6cTtxcjmPVtA24lkbaWonqenF"
    "KtVGLdvcFXTRstVcjrr3iK6poKsS7bojO675tbBXeppe+wuWaVJbyxYdY1QznKpd0cZCxlktMsZDxjktMjaGjPMDhhRl7OOMvOtUyxprjhh1"
    "QWuEuk2Z1gh1k/4wDeEZTnBpSYcqdSMWLWipf92ghS31r9szNM1MeE58QDAhgo4Rm4Zb5tTt+nPLnLpt66b5lj3h4FqmZlol73nCx5nmSxT+"
    "fs4ao6Y/6ug5f2HAeggb9aKVt1PP/gRn3Y/g9JOkqNv5qp6nO64vU3vVSGbV3hDSatT1LMfeKqEDpKSPabmiXtE2OO5o/UcfUWBl2XqJPpGl"
    "445t/oeUXaumV+h05u0kXr7sBpO2e29Q8cpWsRhAaDvxxktZp/hk8C4yah4gVdvKOW7JVxuZYHgfqXrU08xxUG4ZmlfRjdGXYNxCBfLeoBJV"
    "8DTZoNdoznX4CGSeJ/XPKbuOAe7DcbWSY1K8i7uaCgwbrRyEWt6w+0D0BQ19ffnc2ODgwIDwSWK0sHRKf8j8abfcHsaTLRH/3CW3hY5axLdu"
    "hqMZYTzAkfeI61zGT6WAo6RZ/dPNx76S1n5+yT8WPvCa8L+SH3unt8cvwaCjcOyRphWssmZUYd4t040lS2lWz5nG4ksXL/0ZYQClhaKu5D7M"
    "10+gp489xr5HQb+KgtF9hyYQ+vp8SFEOg4Tfe7L9+wcOSVPSg1NTLM24/xDe9MM7sxSk3IHufuEO9MrbsiTBf992CP7c1yy1mZSUJY9DP4RW"
    "vHs3tDE+ug29y/4q9vmZ/2HpKRjh9UcR2iSdkOH9qgKT6bajSNoEr9gD3Mnfr9/gJXK2k/yBp32QWwdF5XJHeyBn8Hofl9/8MOUweVN7Y342"
    "0Z4w37twb+9sVe51e9I95/V2ndfd5vXARCVI7s3MhykqE8zAjXPkXnjbXDw4m1Vv6ry580awTZ2LQkBlACr4RuJUsJjm8yffo23hflOSJUVS"
    "JUX2kTallzUv8K09V71QVPBSLCNlEXsa8NtmqheJCr4Ey9wBqfxayNVA3olYlytZ0gpXfwkiyWqatXQ7Y7BYmeGeP/OnQTJIhjIXDy5ZhIqW"
    "TT0CDhTcaJ4lE8K/Bl6VQUEKZ5lj0BhHIdADepZvSiqMFSvEXqSp+hHLhpC/PMM7joys5s2npi5ehM6A109BUUCvoqR9G6L7HxGvHuG2rWMj"
    "ifF3Z85EGEoQUeBhnh8G57OoA8+z1AukHgbUxrP/fu/+1x8++/C3r778xhGXjTQe6rgz23XwlY8m//XxsltWzqupy2egDklolLdKWEFqr/zl"
    "5ofUzgEFq8vlLdJ1AM2WT2w+qM5tI+rstgEV90sYNPv/B2KyP6IuhH2rREkh8kP6q57bb9lGsWrSfgD6WWeTVnSr2CRuI/TlVByfk4Av4ng8"
    "5i7jeDqGr+U4juG3Jrx/QwK+NQF/y18yqXCfJ8r2hHxkd0I+ciAhH0HEdioUEcjIIItDJG9XSUH3CojfGV5xEXEdU6/oiFToWMVHWf4GMC26"
    "jlaGPZxl5xHJeh4iwbaPsCwO0k+rVC0BaNJsNa/p2axLa6Jm2TlHPIMSnlh7ESjkwR4REcMpsdxUgDkXElhRYfMk+hyw4ZMqehZkAarBUyBF"
    "vhRJe4Nkl+N2taTp8AXReq2xnqUuy5AjoJ/a1gyjoe5n357h6hWjIBpgaFkK7Gs0gyQ42uRSo+ov8NNK7rTVN69duebaVb9U/hPs5UVWnLT/"
    "j54XREs7j1lSLI4J+fdIHMORcw4R32bB9f+pKUfwRRwT8mJUP0+JnpNE17caaRdxbyKBr8TkPJ53S7E4K2RfUj7Oy0UcC3cVqUY5HD/XitX7"
    "I2dMDedZHbFzrAQDlnKu8GPheVFn43mRGjNP+LcrOCb4xzlfnHellVN//5o4/7JGPm4yfuunwaJ81ISfb8K/oQm/msBfeUYgi034dyXwd3H+"
    "gib8f3JsIIa/yfmjCXwhJxP0r5jZuM6S9O9M0P8Xzv9bE/37E/Tvmdm4/lDC+n0xgf8e5z/axP4jCfbffmYgL29i//vRtRu1n/OHeMcennvH"
    "/dcnCfv2z2YF8kQT+79I4H/IF+jRJvwfAZ0uagM="
)
CODE = zlib.decompress(base64.b64decode(_COMPRESSED))
