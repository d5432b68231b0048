#!/usr/bin/env python3
"""Checks what the compiler cannot: the direction of includes between folders, heavy headers in one file each, operator
names outside src/ops and src/model, vendor words outside src/dialects and targets, rounding outside its homes, and files that
have grown too long."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
MOST_LINES = 350  # of a source file, tests too: a longer one holds several things and is split by meaning

# folder -> folders it may include (besides itself)
CORE = ["base", "tensor", "graph", "kernels", "ops"]
ALLOWED = {
    "base": [],
    "tensor": ["base"],
    "graph": ["base", "tensor"],
    "kernels": ["base", "tensor"],
    "ops": ["base", "tensor", "graph", "kernels"],
    "run": CORE,
    "artifact": CORE,
    "passes": CORE + ["run"],
    "model": CORE + ["passes", "run"],
    "recipe": ["base", "tensor"],
    "target": CORE,
    "data": ["base", "tensor", "graph", "recipe"],
    "calibrate": CORE + ["data", "run"],
    "plan": CORE + ["calibrate", "recipe", "target"],
    "lower": CORE + ["plan", "target"],
    "measure": CORE + ["calibrate", "data", "lower", "plan", "recipe", "run", "target"],
    "dialects": ["base", "tensor", "graph", "recipe", "plan"],
    "report": CORE + ["calibrate", "measure", "passes", "plan", "recipe", "target"],
}
ALLOWED["compile"] = sorted(set(ALLOWED) | {"report"})
ALLOWED["cli"] = sorted(set(ALLOWED) | {"compile"})

HEAVY = ["onnx/onnx_pb.h", "yaml-cpp/", "nlohmann/", "CLI/", "dnnl", "turbojpeg.h", "stb_image", "google/protobuf"]
VENDOR = re.compile(r"hailo|horizon(?!tal)|synap|snpe|qualcomm|qnn|tflite|onnxruntime", re.I)  # within names, too
# Real -> integer, in every spelling: library calls, +0.5 and a cut, vector instructions. Integer -> integer: half of a power of two.
ROUNDING = re.compile(r"\b(?:std::|__builtin_)?(?:(?:l?l?rint|l?l?round|nearbyint)[fl]?\s*\(|(?:floor|trunc)f?\s*\([^;]*0\.5[fF]?\s*\)|static_cast<(?:std::)?u?int\w*>\([^;]*[+-]\s*0\.5[fF]?\))"
                      r"|\b_mm\d*_(?:cvtp[sd]_epi32|round_p[sd]|roundscale_p[sd])\s*\("
                      r"|\b1[})uUlL]*\s*<<\s*\(\w+ - 1\)(?!\)*\s*-\s*1\b)")
# Who may round, and why. Everybody else calls round_half_even, quantize or requantize.
ROUNDING_HOMES = {
    "tensor/quant_params.h": "real -> integer: the one home",
    "tensor/quant_params.cpp": "the same for whole tensors",
    "kernels/requantize.h": "integer -> integer: the other home",
    "tensor/fixed_point.cpp": "a real factor becomes a 31-bit multiplier",
    "kernels/requantize_row_avx2.cpp": "vector form of requantize.h, bits compared in its test",
    "kernels/requantize_row_avx512.cpp": "vector form of requantize.h, bits compared in its test",
    "kernels/elementwise_u8.cpp": "vector form of quantize(), bits compared in its test",
    "kernels/lut.cpp": "fast forms of the interpolation of qlut16, bits compared in its test",
    "data/resize.cpp": "Pillow's fixed-point resampling, which rounds half away from zero",
}


def operator_names():
    """Of the OpDefs that ops.inc lists: the first string of each definition."""
    listed = re.findall(r"NARROW_OP\((\w+)\)", (SRC / "ops/ops.inc").read_text())
    names = {}
    for path in (SRC / "ops").glob("*.cpp"):
        names.update(re.findall(r'constinit const OpDef (\w+)[^";]*"(\w+)"', path.read_text()))
    return [names.get(symbol, "") for symbol in listed]


def code_of(text):
    """Without comments (their words are free); lines keep their numbers."""
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment.group(0).count("\n"), text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def sources():
    for folder in ("src", "include", "tests", "bench", "tools"):
        yield from sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in (".h", ".cpp", ".py") and p.is_file())


def main():
    found = []
    heavy_users = {h: set() for h in HEAVY}
    rounds = set()
    names = operator_names()
    if "" in names:
        found.append("src/ops/ops.inc: this script finds no name for some of its operators")
    literal = re.compile('"(' + "|".join(sorted(filter(None, names))) + ')"')
    for path in sources():
        text = path.read_text()
        if len(text.splitlines()) > MOST_LINES:
            found.append(f"{path.relative_to(ROOT)}: {len(text.splitlines())} lines, wanted at most {MOST_LINES}")
        if not path.is_relative_to(SRC) and not path.is_relative_to(ROOT / "include"):
            continue
        rel = path.relative_to(SRC if path.is_relative_to(SRC) else ROOT)
        folder = rel.parts[0]
        if folder != "include" and folder not in ALLOWED:
            found.append(f"src/{rel}: this script does not know what {folder}/ may include")
        test = path.name.endswith("_test.cpp")
        for number, (line, code) in enumerate(zip(text.splitlines(), code_of(text).splitlines()), 1):
            where = f"{path.relative_to(ROOT)}:{number}"
            include = re.match(r'\s*#include\s+[<"]([^>"]+)[>"]', line)
            if include:
                target = include.group(1)
                other = target.split("/")[0]
                if other in ALLOWED and other != folder and other not in ALLOWED.get(folder, []) and not test:
                    found.append(f"{where}: {folder}/ must not include {target}")
                for heavy in HEAVY:
                    if target.startswith(heavy) and not test:
                        heavy_users[heavy].add(str(rel))
            if test:
                continue
            if folder not in ("ops", "model") and literal.search(code):
                found.append(f"{where}: operator name {literal.search(code).group(0)} (ask the OpDef instead)")
            if folder != "dialects" and VENDOR.search(code):
                found.append(f"{where}: vendor word '{VENDOR.search(code).group(0)}'")
            if ROUNDING.search(code):
                rounds.add(str(rel))
                if str(rel) not in ROUNDING_HOMES:
                    found.append(f"{where}: rounding outside kernels/requantize.h and tensor/quant_params.h")
    for heavy, users in heavy_users.items():
        if len(users) > 1:
            found.append(f"{heavy} stands in {len(users)} files, wanted one: {', '.join(sorted(users))}")
    for home in sorted(set(ROUNDING_HOMES) - rounds):
        found.append(f"src/{home}: rounds no more; take it off the list of this script")
    for line in found:
        print(line)
    print(f"check_layers: {len(found)} finding{'s' if len(found) != 1 else ''}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
