"""Code objects whose kernels call functions, and keep arrays in scratch: for gfx90a, which reaches scratch by a buffer, and gfx1100.

Compiled by clang 21 (`hipcc -x hip --offload-arch=TARGET --cuda-device-only --no-gpu-bundle-output -O1 -fPIC call.hip`) from SOURCE.
"""

from __future__ import annotations

import base64
import zlib

SOURCE = """\
#include <hip/hip_runtime.h>
__device__ __attribute__((noinline)) int twice(int x) { return x * 2 + 1; }
__device__ __attribute__((noinline)) int thrice(int x) { return x * 3 + twice(x); }
__device__ __attribute__((noinline)) int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
typedef int (*fn)(int);
__device__ fn table[2] = {twice, thrice};
extern "C" __global__ void calls(int *p) { int i = threadIdx.x; p[i] = thrice(i) + twice(p[i]); }
extern "C" __global__ void recursion(int *p) { int i = threadIdx.x; p[i] = fact(i % 9); }
extern "C" __global__ void pointers(int *p) { int i = threadIdx.x; p[i] = table[p[63] & 1](i); }
extern "C" __global__ void arrays(int *p, const int *q) { int a[40]; for (int i = 0; i < 40; i++) a[i] = i * 7 + threadIdx.x; for (int i = 0; i < 40; i++) a[q[i]] += a[(q[i] * 3) % 40]; int s = 0; for (int i = 0; i < 40; i++) s = s * 31 + a[i]; p[threadIdx.x] = s; }
"""
_COMPRESSED = {
    "gfx90a": (
        "eNrtWm9sHEcVn53bO5/Pjn0XQhRCmlxMkiZIXtk0jpwKEZckkIQ0uCAgLUXb9d3en/r+dXfPsYt6WTsX26ncAFbbD0hA+NAmUWjq0FISAbZb"
        "kOBDK7X+Qj8UFJCKIvElIBEoSnzM7M7szq53L5c6pEJkpb2385v35r15b27uzbs9uvfgFyDH9fHAvALgMuCAffURWvqUSXcFMdYLmtHnShAF"
        "IYTxDJ+b/otz0jDBOSLnd+lRJwVRWy6IH2IE3+iizS7KyGFbwVqC3++kM1RxyFtuhsjNHHBSah41hwKwQX2UUr985X0tyd+CnTRWDyG5ELj1"
        "iyd3LzTbbnol4qQ0Zk3oXkBYHNEHHtzzxf6vAXDsvJRPZlRJGJSVgpxTn/0jWHlOkNIlRUwUywUNvCBISlr9XvW8ICWTiqyqolqSEvKL6Vxx"
        "QMqdFoqplCpjNjX7pBw+JwxJubIsDmYLyZdMFnGgnErJyiUhrRTLJVGV03m5oImp7LCcFLEQeM1QjtRYnVIumy6Ef7YEN3ScFXJSIV2W0vKZ"
        "L5fkwu6D8d0XLEgckhU1WyxMQ3BRyEvDYionaeKRojJI1KMR3uKRuQUpL7+QkHI59RdCSckOSZrsYVv0nKBavthywWyopWwuR9xzWlBH8gPF"
        "3BljKGEweVEoF7KpopI3lIq2Vu4VoazKqpgcQaqzCVHVpMTgG8hh1vj8BbPBjv+ycEQaklNKkcy+7/8pPmcVOVE22OvFCLAx2lwnRj+xhrvl"
        "OP2ajVPww8fpPbBq2ZE6RlnDJivPsr6aySaTckEcyBUTg6ZqcdiSaG1QYsSSiDYo8aQlscqUgKzEK0TC9jJj1OrGBGyb1jQmYJu01kPgp0RA"
        "kfMSasoKY9G6hvhtg9Y3xG/b0+UR49foBMxQm4yMTb0Ny9h29TUsY9u2z2MuM5Zzs0kxmc2rFvfhOhoyRVXDu6J72T7mIXOJyOTLOS1rqFFH"
        "CgkRfWUssYyH2HmqSpZK4lC3xVvy4KWrNimnJKRFfKIsl2VLYthD4iKRSBTzpZysoX1DlBKYWFJvvu0hRr1lKBBL2u3bWt/ibuPmeqZUzBY0"
        "JNDw3vrpOnvrOTra8rbWbR9+a51e9sZ6kwHCd+43NHr7wvyipCjSSN0gvznDRjlWJ8pnzcGWl+aEGonxSyQt1ZBrZO0SaqUThU5EOs2Ozs50"
        "anhnl0TTV+oSDvrnzTjvXhlAWXuH2c4QHKftsUATmG93noN2EJyeDyi+n+B9LryJ4LprnCjVS85jhwl+L8U3me0pgncZ47QsOa98nvJvNtvX"
        "Cf5V4yzTCuYPOM8XkDxDMsc1HQs6Hg7G4wiC0/Rc9my1p/365v1ff76zc/NzsY8/dfXG75oqM/r7hw9d65n6dya6+pjy99jiN4+2IN4W47xp"
        "zjXMnO3w0S3C+Boyx7JGzjPGZeTQgGbSwErXAJu4AbrTAE0ayMmA2XiAuTyBtUqBKGayJTFRRj8oifukndt3SN1yb09vj9wj2+fBFcB5Hr3o"
        "wqMbl9ocZc5/+sqbTJB7GTzDHG+B6/zY97H6a9aSD7vkaaBX+cvjmOxF8j9AOnYx8jPMuppfVV+/Drzt/+iuqTl8lAWBIFx/jz6L2xvB+Gwc"
        "/Hj29Y4qapcuowW4kecWZwEf/zkETy+sxzNZV53la7z+m1qtFqwFxxCp4b4NEPUFYIVf/0PEf+UdronjN4ATCzDAgfWYchxaGqfI2P3W2CGk"
        "r9Q+NWfaoM/dqRvC0DzZcHRO58bovK4v2vPSkb0gEDLmNBbiN+H5Ab3/PYhXHeH/JcNvzD2AtkS9ZPKA0Tns11HIV3SuOhsEY3OV8OJEJTQ5"
        "HuarExV+8UQLmJyDaNxRMP1UqDI+8Xh8cvZabXLudRDKQHB8gUObMcJPBAKgcrWG5PnFCQ49L9tfgXBljPigBqqz9/z2iXXYFwCML/BokWKf"
        "nEDLm+fA43SuvTWnbwy/hOEmPF/O+JaMzt3JGC7nrobNubfGUvoKPT2GNn9jHRydn5p7iIfz+HehHTwz2wamZsG6k7NttTZd34KwWvuY6bP+"
        "LTW0iWP+2GhsPHYsdnJijzFmR3gyrDfrzWNRcBKth89VtqJ4YX9h3pXYZ/3UZx0fnc/IutfRdx6v6xBao6FqaBRES5fRV1k/BcYvTECY+aB2"
        "fG6MC83j1axzk8YcQuGI3tTcMnYcQsOHGIsca5mOjEVOttSmnk+nUqkIhJXWH0W+01pt/W5rJDIaOROZbok8PYp5IkgXiPZfhhCvN2QLekZr"
        "Wg9XTb+dApMX8J4QCPIZbA/6Cuh/QnZgW3VsJxrbkOGBjm0+BUIGPwxfeQfuivH/rFXnIGfGFwVrE7YP+xtA/n9qjd6979537//O3USyoH3t"
        "zjyyy/U3yhpCP6jVijQnZ/8uiZMEt8XFHyT03TY7h8RXkdB/LJrjbW1z5u/DbQ2mb3vkgaxUiCfwgTZOTm7xz3QL3UJvfGv39m3gYLaAjsX3"
        "xwnjwYN7SHd90fu21U/DDR+ErTyf5r8tBKd5fpXgq43Pv9WirnE6Ce7+L+yzBHfr/RLBO1y46MNf8MHHffBTPvirZF4ZovhRgv/Kh/9dggdd"
        "+F99+BcJ7j4ereZMnHPh2zjvcfb64Amfcb7tw/8cwd2r4LQP/yWCb3Lhb/vo/bMPfsMHXwu98W6Cz7jw/QR3n5sfht72Zwm+woVXfPhP+uCn"
        "ffA3fPC9uAAAm+3/Ocn1e+hdX/kD9K6L/AV610WuQu96zA3oXS8JBbzrJa0B7/rNmoB3HWVDwLuusy3gXV8BQqGoyUBIjhTUkTwQ0oWykJHU"
        "DCCfGNcUIChyTsIN9FRMSpoEBE0e1ox+XCIzGJSiWJKSyWwhjXCDZ0BVgWD+TSvgclleGs7my3kEJop5XMEDuCinSQOIZpAe88mkQHykRzuS"
        "TchZ9LRDyyjGo1lYYeqAZmnShAvlvIjLckxTcjQHZAXXC23MKPMNJRJs06hEqglF0hIZgiNf4GKgoStplgOZHrvGIz6yPYXL60yxZ4mpdpdl"
        "rhOSlkCM2TZume6CHObbfV5TcPba07DKUUuMt3os2x2I5EYYyy3YMtyJOOy2urzMdnTaVpOK2RKbCW5ZzLQlZ5uxloCWrWzbYSnp8LKT6bKt"
        "vLP1QXHPw4ceeHD/7mVXqzhSL6X5l9/7GkvqoUxduYWRp3kbpbQOGCS6wq58Dm+j11AOSOVp3kZpP1OzZfNJen2CjA1deR6lj7nkeRfdQGrG"
        "0JVXUlr0qnky171kLOjKeynt8rGfzr+bqYMb9dp2J3Ur7HPp38m+i8S+txRzJdw+E9hFZAPA9X7QWuf7QUGX/fR3bB/BqPwMfa+IyPcH6/vv"
        "GwSz5A845aMetW32+pZLP/0dnF/rrc/dHvDAWHlwE/kjBOvykX/UR55SnYk9e8U/SfIU3g7nZo/1M8nGjrkmN5j0+zexf9pHviNu0kOB+vL/"
        "Aehjx40="
    ),
    "gfx1100": (
        "eNrtWn2MFGcZf+bjduc4CgtFvJL22DvBQuJN7iwgGpNeBeTAK9KqlTaaYW53dne83Z3tzOxxV+26t3flw55NIYhRE7maUCC0dKG1AY2712pi"
        "07Sxf5jiH2iISf1H/6iKiAZY33fmnc+bWZaCbfyYZO/Z9/c+v/d53o9993me229uGvosTVEDLJgPAxeAAucZILLQbcr7DGw9tKO/iyEGEdRm"
        "XXp+eZnySo7gFOGFPbMxr4SYw2vDbxYRvNsnoz7p4mFfoZPg672yahnmgnlVwqsOeqXlnuWOBdAt2qv6zD74jp5kb8BPa68eQLwI3PjDktd6"
        "mpjxyXiHV7Ku5e1AWByfifs3bt7+JYDJk2IumdFEfkRS81JWO/g7WHyEF9W0tn/qJC8mk6qkaYJWEBPSs+msMixmj/JKKqVJOhzhNfkxiTvB"
        "j4rZoiSMyPnk86aKMFxMpST1LJ9WlWJB0KR0TsrrQkoek5ICJsHLhj1kxu4Us3I6z/14Dm7YOM5nxXy6KKalY58vSPkNQ/ENp2xIGJVUTVby"
        "B2g4w+fEMSGVFXVhl6KOEPNohDdZ5G5ezElHEmI2q/2UL6jyqKhLAb7FTvBauqAKCaWY13tOmQ2tIGezJgRHeW08N6xkjxlD8SPJM3wxL6cU"
        "NWcYFRyr1It8UZM0ITmOTMsJQdPFxMiraMHs8SOnzIZ7/Bf4XeKolFIVMvv4Wd6ZTEFVEmhHFFXIKUmJ+i/freOqlCga6s12DNw71t1kx56z"
        "h7vhXfu5e9fabtWunYclN71vk5YqZ6qybtWXMnIyKeWF4aySGDE9FcZsxvwWGeM2I9Yi4zGbscRk0G7Gi4ThrLnLqaWtERyfOlsjOC4tCyCc"
        "JgRVyomoKakuj+5sSd9xqKslfcefvoA9ftmagLnVpqLLp/Utcxy/BlrmOL4NBsylai+unBSSck6ztXc0sZBRNB3fmP5juzOAc5ZwcsWsLhtm"
        "tPF8QkAfGZuWCaCdtExJYkEY7bd1CwG61qlNSikRWREeLUpFyWaMBTDOEEZCyRWyko5uEUFMYGGz3ngrgGatlmFAKOi37qJ9k7qFV+2xgiLn"
        "dURo+ab9aJOb9oQ12s1dtKtv1UV74Kav2esMwL1/36+xW7fpz4qqKo433fI3qu49n9dkz4+bg32wAdHzJJzV0apJ+k9QK53I9yLRa3b09qZT"
        "Y/39fX1W3GstF0WHxts4Xl/MoOC9x2wnCb4M5xBM1M4frPxpHcEHfPgWgpd9+BeMXGQ+zA5684Mo0Z9d6NWPWf58xGxvJ/jdFr7CbD9N8D5j"
        "nI45+c9nLP2VZns+5eRBFJF4jp09v57FNDoeRxB9wMqvDk6tXXhl5ZaHDvX2rjy46EOP3/6r58bevfpatFQtv7Nj26W10//MxD48qf4FpyEd"
        "Rp5qpkDtrhxtHvGlDRzb0RvMhcAIxMEKx8GO8sAd74F1JYEuDmclcN1QYJ5csA8wCEJGLgiJIvrmuUdK9CdT69as61/7iaSY6HPyyNvAm8ee"
        "8eGx7nC/Y678cWBxcz2gXrhwGOv7km+LD7e3yJ/v45P9nm3Cx7liG+L/AOl0ufhV1zkqL2nOH4Bg/9/7s68O8NDbwLTRXYPlGm53Q6UWh2dq"
        "r6zAbfk8sHjxr9VYEM91odMWfzo+AZtRXwPKv2g0GlSDqiDRACZSwjrLabQYW35YW0ztqVPfuPY2E6XY5bDzHMtQ0IUlRaFtnqlRDJRMGw+c"
        "RxvPYhs0svt3Zl/d9KVc/7e/KPYiLs9Y82Fd8ykjH4GZV8JzoWAP0u15vTIPTY7ovnbNNXd48DyNP0FIF304twJ8zWxDtY7XdIJmS2Uo16Iw"
        "Uy/RpenvsXvqJYp+En1Gp9vR2CUo7b8NjtSxHZqhS1SJmi6hfZiAA4//tXGk/gpEttLwsXMUultR334a6TFo/f7UmMHcabyW72nNGK7kX4Mv"
        "+tcAes+xDQru+uWjd+5HdvcBLGUpGMJzrXB0H54rZc+1/B/1qnDm3CPUt2qweXct0oiUZ9CdH21EK+YXyIrXG7BqeYPBd9F0bQF8u7YQnjLO"
        "wyq05nh9olf21RfRcPEKGge/5ya4J/GecpPcFMMa48fYvVy5rdxeAWqqRlO7DU4Mr992a/16Ppj1Q2etjM4Z9peGyRo9RU8Yn3l0oPbQ9NYZ"
        "oE9fbvyoXgb2IrojL5eR/24+ngfNRspMW7QySYGxlhiLTEYPRSqRqWiD+246lUodR+edO9z+BDfF7ebauQl8/rlj3KEot2cC245WolMUPFE3"
        "74IoZcoIzU6xaN3aKjPAnsb3AvpsbDX9i8AF7BcdMfw39WkW+38WjTcDlVNY37h/7l3EUuhuutR4Bo1v7jfa3D7sJ157M0jAa3/4/6//sZcV"
        "H5UXeuOAPiLbibTK0f9oNBQrtgKrxo2eHSRQ6fDpW7FYjIxvxWgKkX+7Zo63c4G3vlxd0OLX90ZpWBbz8QTOWeIkAI9/vJ/v59fHV/WvWQ1D"
        "ch5lPp+KE8WhoY2kuzn1ntVNzZoxLWfHa1b80kFwK16bJvhS4++fGzHfOL0E94//aYL7a/qfI3iPDxdCxsmH4LtD8JkQ/CUyryQxnCX4z0L0"
        "fxOC/5HgbT78GsH9Ye5SKnic1SH4phA8QXDKh389RP87IfhRgvtPx1mCr/Dhb4XY/X0IfjUEX0YH4/0Er/rwLXSw/w/TwedKJvg8H14KGeep"
        "EH+Ohui/GoJvwokc3e78n4s85+jgPPm3dHAe+wc6OI99lw7Oq6/SwflthAnOb+czwXl4JxOc9y5ngvPz1Uxwfg58XtEl4JPjeW08B3w6X+Qz"
        "opYB8hfjugq8KmVF3EDvlKSoi8Dr0phu9OMqiKGgKkJBTCblfBrhhs6wpgFv/puOxxWRnDgm54o5BCaUHC7SAK67oFwWyQyyY74zJQiPrNV3"
        "yQlJRu/W6RnVeGsmyK5Sj1l9MuF8MSeIyI6rOeppDksqLgk5mFHJGU0k3E2j2KQlVFFPZAiO1gLXewxbSbPi4+pxcnXhkTUpXE91Je1zXHW6"
        "bHe90OgcyOW2g9uu+yCP+05f0BS8vc407LLCHOftHtt3DzLqR1ye27DtuBfx+G13Bbnt6XS8JpWPOT4T3PbY1R71tl3eEtD21d32eEo6gvx0"
        "dTlevr91HmHjw9vuu3/LhpuuVlCkpmXFX2H/r/fUtFxP1I5RvHGbJa06ThuxxfniOXztXkIxoMW34jZLbnfV3jx1JfLcQcamfXGeJXf6+KxP"
        "Lie1P9oXV1pSCVgv93M3GYv2xb2W7Avx35p/v6ueadS7Fnql3+CAz/4n3b9Fcf9uZZHvdyshE7iXcBnw/T6k0/v7kLbgn7PAIMEsftX6XQnh"
        "b482X78vE8zmD3r5saCaoev5qs++9T042xlsz98eDsDcfLgOfxfB+kL4XwnhW7Ls2ntPbfIOU2ZYZztXBpyfve69cz177zLl96/j/4EQfk+X"
        "Kbcxzfn/AigvVow="
    ),
}


def call_object(target: str) -> bytes:
    """The code object for a target."""
    return zlib.decompress(base64.b64decode(_COMPRESSED[target]))
