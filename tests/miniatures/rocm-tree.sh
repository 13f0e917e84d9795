#!/bin/sh
# `rocm-tree.sh ROOT`: a Debian root with the mark of AMD's images. What Debian sid has of HIP 6.4 (headers, CMake packages,
# hipBLAS's headers) is unpacked below /opt/rocm and nowhere else, so that nothing is found by luck on a default path; the
# compiler is the root's own clang 19, which is also the major version of ROCm 6.4's, with Debian's device libraries. Headers of ONNX Runtime go to
# /opt/onnxruntime-headers, for the miniature of its sources. Runs as root of the root; a network is needed.
set -eu
root=$1
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive "$@"; }

for suite in sid experimental; do # the archive that the root has already, at other suites
  sed -n "s/ trixie main/ $suite main/p" "$root/etc/apt/sources.list" > "$root/etc/apt/sources.list.d/$suite.list"
done
inside apt-get -q -o Acquire::Check-Valid-Until=false update # a snapshot of sid may be past its date
inside sh -ec '
  mkdir -p /tmp/got && cd /tmp/got
  apt-get -q download -o APT::Sandbox::User=root hipcc/sid libamdhip64-dev/sid libamdhip64-6/sid libhipblas-dev/sid \
    libhipblas-common-dev/sid libonnxruntime-dev/experimental
  for suite in trixie experimental; do
    mkdir -p $suite
  done
  mv libonnxruntime-dev_* experimental/
  cd trixie && apt-get -q download -o APT::Sandbox::User=root libonnxruntime-dev/trixie
  cd /tmp/got
  for package in *.deb; do dpkg-deb --extract "$package" tree; done
  for suite in trixie experimental; do dpkg-deb --extract $suite/*.deb $suite/tree; done
  rm -f /etc/apt/sources.list.d/sid.list /etc/apt/sources.list.d/experimental.list'

got=$root/tmp/got rocm=$root/opt/rocm
libraries=$got/tree/usr/lib/x86_64-linux-gnu
mkdir -p "$rocm/amdgcn" "$rocm/bin" "$rocm/lib/cmake" "$rocm/lib/llvm" "$rocm/share" "$rocm/.info" "$root/opt/onnxruntime-headers"
cp -a "$got/tree/usr/include" "$rocm/include"
cp -a "$got/tree/usr/share/hip" "$rocm/share/hip"
cp -a "$libraries/cmake/." "$rocm/lib/cmake/"
# one folder less than in Debian's multiarch layout
find "$rocm/lib/cmake" -name '*.cmake' -exec sed -i \
  -e 's#lib/x86_64-linux-gnu#lib#g' \
  -e 's#libamdhip64\.so\.[0-9.]*#libamdhip64.so#g' \
  -e 's#/\.\./\.\./\.\./\.\./\.\./"#/../../../../"#; t' \
  -e 's#/\.\./\.\./\.\./\.\./"#/../../../"#' \
  -e '61{/get_filename_component(_IMPORT_PREFIX/d}' {} +
inside nm --dynamic --defined-only --format=posix "/tmp/got/tree/usr/lib/x86_64-linux-gnu/$(basename "$(readlink -f "$libraries/libamdhip64.so")")" |
  sed 's/[@ ].*//' | sort -u > "$rocm/.info/libamdhip64.symbols"
ln -s /usr/lib/llvm-19/bin "$rocm/lib/llvm/bin"
ln -s lib/llvm "$rocm/llvm"
bitcode=$(find "$root/usr/lib" -name ockl.bc -printf '%h\n' -quit)
ln -s "${bitcode#"$root"}" "$rocm/amdgcn/bitcode"
cat > "$rocm/bin/hipconfig" <<'END'
#!/bin/sh
# As ROCm's own prints it: HIP's CMake package asks for the platform, the kernels' reads clang's path and version out of it.
case "${1:-}" in
  --platform) printf amd; exit ;;
  --rocmpath | --path) printf /opt/rocm; exit ;;
esac
printf 'HIP version: 6.4.43484-0\n\n==hipconfig\nHIP_PATH           :/opt/rocm\nROCM_PATH          :/opt/rocm\n'
printf 'HIP_COMPILER       :clang\nHIP_PLATFORM       :amd\nHIP_RUNTIME        :rocclr\n\n==hip-clang\n'
printf 'HIP_CLANG_PATH     :/opt/rocm/lib/llvm/bin\nAMD '
/opt/rocm/lib/llvm/bin/clang --version | sed 's/^Debian //'
END
chmod 755 "$rocm/bin/hipconfig"
for suite in trixie experimental; do
  cp -a "$got/$suite/tree/usr/include/onnxruntime" "$root/opt/onnxruntime-headers/$suite"
done
rm -rf "$got"
inside apt-get clean
