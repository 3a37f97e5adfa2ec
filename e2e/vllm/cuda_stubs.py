"""Lets PyPI's torch load without the 2.7 GB of CUDA wheels that it is linked to.

usage: cuda_stubs.py SITE_PACKAGES

PyPI carries torch only as a CUDA build, whose shared objects name about twenty CUDA libraries as needed. A run on CPU
calls none of them, but the dynamic loader wants them all present, with every symbol that is bound at load time. This
script builds one small library that defines those symbols (each aborts when called, so a wrong assumption shows at
once) and an empty one for every other name. libcuda.so.1 belongs to the driver, is opened on demand, and stays absent.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

# Prefixes of the CUDA interfaces that torch binds: anything else undefined comes from libc, libstdc++ or torch itself.
SYMBOL = re.compile(r"(nvshmem|nvrtc|nccl|cublas|cudnn|cufft|cusparse|cusolver|curand|cuFile)")
LIBRARY = re.compile(r"lib(cu|nv|nccl)")
DRIVER = "libcuda.so"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def undefined_symbols(libraries):
    """The CUDA functions that the given libraries expect from elsewhere, without symbol versions."""
    found = set()
    for library in libraries:
        for line in output("nm", "-D", "--undefined-only", str(library)).splitlines():
            kind, name = line.split()[-2:]
            if kind in "Uw" and SYMBOL.match(name):
                found.add(name.split("@")[0])
    return sorted(found)


def needed_sonames(libraries):
    """The CUDA sonames that the given libraries name as needed."""
    found = set()
    for library in libraries:
        for line in output("objdump", "-p", str(library)).splitlines():
            fields = line.split()
            if fields[:1] == ["NEEDED"] and LIBRARY.match(fields[1]) and not fields[1].startswith(DRIVER):
                found.add(fields[1])
    return sorted(found)


def build(soname, folder, symbols):
    """Compile folder/soname with one aborting function for each symbol."""
    source = "#include <stdlib.h>\n" + "".join(f"void {s}(void) {{ abort(); }}\n" for s in symbols)
    with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write(source)
        file.flush()
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-w", f"-Wl,-soname,{soname}", "-o", str(folder / soname), file.name],
            check=True,
        )


def main(site_packages):
    folder = pathlib.Path(site_packages) / "torch" / "lib"
    libraries = sorted(path for path in folder.glob("*.so*") if path.is_file())
    installed = {path.name for path in pathlib.Path(site_packages).glob("nvidia/**/*.so*")}
    missing = [soname for soname in needed_sonames(libraries) if soname not in installed]
    symbols = undefined_symbols(path for path in libraries if path.name.startswith(("libtorch", "libc10_cuda")))
    for index, soname in enumerate(missing):
        build(soname, folder, symbols if index == 0 else [])
    print(f"stand-ins: {len(missing)} libraries, {len(symbols)} symbols")


if __name__ == "__main__":
    main(sys.argv[1])
