"""`base.glibc`: libraries of the base's C library as an older release of it had them, for the kernels to be linked with.

A C library keeps every version of its functions, so the base's own says what an older one had: of each function the newest
version up to that release. The step writes libraries that define these names and nothing more, which a linker takes in the
place of the real ones. What a newer release added and headers or libstdc++ use all the same is defined in a small archive,
by older functions. libstdc++ is linked into the libraries, since it is as new as the base's compiler.
"""

from __future__ import annotations

from stackbuild.model.components import Scalar
from stackbuild.model.plan import Command, Need, Resources, Step, sorted_items
from stackbuild.plan.steps.context import Context, fixed_env

STEP = "base.glibc"
FOLDER = f"/deps/{STEP}"

VERSIONS = r"""
function number(version,  part, count) {
  count = split(substr(version, 7), part, ".")
  return part[1] * 1000000 + part[2] * 1000 + (count > 2 ? part[3] : 0)
}
function other(name) {
  return name ~ /^(ns_name_|gai_(cancel|error|suspend)$|getaddrinfo_a$|openpty$|forkpty$|login|logout$|logwtmp$|__dn_(comp|expand|skipname)$|.*_placeholder$)/ ||
         name ~ /^__res_((n?(query|mkquery|send|querydomain|search))|((own|mail|dn|hn)ok))$/
}
function home(name) {
  if (name ~ /^dl(open|sym|vsym|close|error|addr|addr1|info|mopen)$/) return "dl"
  if (name ~ /^(aio_|lio_|mq_|shm_|timer_)/) return "rt"
  return "pthread"
}
$7 != "UND" && $7 != "ABS" && ($4 == "FUNC" || $4 == "IFUNC" || $4 == "OBJECT") && $8 ~ /@GLIBC_2[.]/ {
  at = index($8, "@")
  name = substr($8, 1, at - 1)
  version = substr($8, at)
  sub(/^@+/, "", version)
  if (number(version) == 2034000) moved[name] = 1
  if (number(version) > limit || (name in chosen && number(version) <= number(chosen[name]))) next
  chosen[name] = version
  kind[name] = $4 == "OBJECT" ? "object" : "function"
  size[name] = $3
}
END {
  for (name in chosen) if (limit >= 2034000 || !other(name)) print (library == "c" && name in moved && limit < 2034000 ? home(name) : library), chosen[name], name, kind[name], size[name]
}
"""
"""Reads `readelf --dyn-syms` of a library; prints, a name a line: the library that had it, its version, its kind and size.
Release 2.34 moved functions of others into libc.so.6. Those of libresolv, libutil and libanl are left out: nothing here links
them."""

STUB = r"""
$1 == library {
  print ".globl " $3 "\n.type " $3 ",@" $4 >assembly
  print ($4 == "object" ? ".data" : ".text") "\n" $3 ": .zero " ($4 == "object" && $5 + 0 ? $5 + 0 : 1) "\n.size " $3 ", .-" $3 >assembly
  if ($2 != node) {
    if (node != "") print "};" >map
    print $2 " {" >map
    node = $2
  }
  print "  " $3 ";" >map
}
END { if (node != "") print "};" >map }
"""

LATER = r"""
#include <stddef.h>
#include <stdarg.h>
typedef long long ll;
typedef unsigned long long ull;
#if PART == 1
long strtol(const char*, char**, int); long __isoc23_strtol(const char* s, char** e, int b) { return strtol(s, e, b); }
#elif PART == 2
unsigned long strtoul(const char*, char**, int); unsigned long __isoc23_strtoul(const char* s, char** e, int b) { return strtoul(s, e, b); }
#elif PART == 3
ll strtoll(const char*, char**, int); ll __isoc23_strtoll(const char* s, char** e, int b) { return strtoll(s, e, b); }
#elif PART == 4
ull strtoull(const char*, char**, int); ull __isoc23_strtoull(const char* s, char** e, int b) { return strtoull(s, e, b); }
#elif PART == 5
int __isoc99_vsscanf(const char*, const char*, va_list);
int __isoc23_vsscanf(const char* s, const char* f, va_list a) { return __isoc99_vsscanf(s, f, a); }
#elif PART == 6
int __isoc99_vsscanf(const char*, const char*, va_list);
int __isoc23_sscanf(const char* s, const char* f, ...) {
  va_list a;
  va_start(a, f);
  int count = __isoc99_vsscanf(s, f, a);
  va_end(a);
  return count;
}
#elif PART == 7
struct stat; int __xstat(int, const char*, struct stat*); int stat(const char* p, struct stat* s) { return __xstat(1, p, s); }
#elif PART == 8
struct stat; int __fxstat(int, int, struct stat*); int fstat(int d, struct stat* s) { return __fxstat(1, d, s); }
#elif PART == 9
struct stat; int __lxstat(int, const char*, struct stat*); int lstat(const char* p, struct stat* s) { return __lxstat(1, p, s); }
#elif PART == 10
struct stat; int __fxstatat(int, int, const char*, struct stat*, int);
int fstatat(int d, const char* p, struct stat* s, int f) { return __fxstatat(1, d, p, s, f); }
#elif PART == 11
struct stat64; int __xstat64(int, const char*, struct stat64*); int stat64(const char* p, struct stat64* s) { return __xstat64(1, p, s); }
#elif PART == 12
struct stat64; int __fxstat64(int, int, struct stat64*); int fstat64(int d, struct stat64* s) { return __fxstat64(1, d, s); }
#elif PART == 13
struct stat64; int __lxstat64(int, const char*, struct stat64*); int lstat64(const char* p, struct stat64* s) { return __lxstat64(1, p, s); }
#elif PART == 14
struct stat64; int __fxstatat64(int, int, const char*, struct stat64*, int);
int fstatat64(int d, const char* p, struct stat64* s, int f) { return __fxstatat64(1, d, p, s, f); }
#elif PART == 15
char __libc_single_threaded;
#elif PART == 16
int getentropy(void*, size_t); void abort(void);
unsigned int arc4random(void) {
  unsigned int number;
  if (getentropy(&number, sizeof number)) abort();
  return number;
}
#endif
"""
"""What libstdc++ and newer headers use of later releases, each in an object of its own: a linker takes those that lack."""
LATER_PARTS = 16

MAKE = r"""set -e
number() { awk '{ split($NF, part, "."); print part[1] * 1000000 + part[2] * 1000 }'; }
limit=$(echo "$1" | number) own=$(getconf GNU_LIBC_VERSION) out=$7
[ "$(echo "$own" | number)" -ge "$limit" ] || { echo "the base has $own, which is older than $1: leave base.glibc out, or name an older release" >&2; exit 1; }
mkdir -p "$out" && cd "$(mktemp -d)"
for file in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 ld-linux-x86-64.so.2; do
  library=${file%%[.-]*} && library=${library#lib}
  path=$(cc -print-file-name="$file")
  [ -f "$path" ] || { echo "the base has no $file for its compiler" >&2; exit 1; }
  readelf --wide --dyn-syms "$path" >symbols
  awk -v limit="$limit" -v library=$library "$2" symbols >"names.$library"
done
sort -u -k1,1 -k2,2 -k3,3 names.* >names
for soname in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 ld-linux-x86-64.so.2; do
  library=${soname%%[.-]*} && library=${library#lib}
  : >stub.s && : >stub.map
  awk -v library="$library" -v assembly=stub.s -v map=stub.map "$3" names
  cc -c -o stub.o stub.s
  cc -shared -nostdlib -Wl,--build-id=none -Wl,-z,noexecstack -Wl,-soname,"$soname" -Wl,--version-script,stub.map -o "$out/$soname" stub.o
  case $library in c | ld) ;; *) ln -s "$soname" "$out/lib$library.so" ;; esac
done
printf %s "$4" >later.c
for part in $(seq 1 "$5"); do cc -O2 -fPIC -fvisibility=hidden -fno-builtin -w -DPART="$part" -c -o "later-$part.o" later.c; done
ar rcsD "$out/liblater.a" $(seq -f later-%g.o 1 "$5")
nonshared=$(cc -print-file-name=libc_nonshared.a)
cp "$nonshared" "$out/libc_nonshared.a"
echo "GROUP ( $6/libc.so.6 $6/libc_nonshared.a $6/liblater.a AS_NEEDED ( $6/libpthread.so.0 $6/libdl.so.2 $6/librt.so.1 $6/ld-linux-x86-64.so.2 ) )" >"$out/libc.so"
"""
"""Arguments: the release, the two awk programs, the later functions, their number, where the output will be seen, and the folder it is
written to."""


def step(glibc: str, base: Step) -> Step:
    """The step that makes them, in the base."""
    words = (glibc, VERSIONS, STUB, LATER, str(LATER_PARTS), FOLDER, "/out")
    return Step(
        name=STEP,
        action="run",
        needs=(Need(base.name, base.key),),
        commands=(Command(("sh", "-c", MAKE, STEP, *words), "build"),),
        env=sorted_items(fixed_env()),
        base="base",
        resources=Resources(),
    )


def options(context: Context) -> dict[str, Scalar]:
    """The cache entry that links with them, where the recipe asks for an older C library."""
    if STEP not in context.steps:
        return {}
    return {"CMAKE_MODULE_LINKER_FLAGS": f"-L{FOLDER} -static-libstdc++ -Wl,--exclude-libs,ALL"}


def needs(context: Context) -> tuple[Need, ...]:
    return (context.need(STEP, FOLDER),) if STEP in context.steps else ()
