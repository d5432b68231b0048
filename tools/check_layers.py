#!/usr/bin/env python3
"""Checks what the compiler cannot: the direction of includes between folders, heavy headers in one file each, operator
names outside src/ops and src/model, vendor words outside src/dialects and targets, and rounding outside its homes."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

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
    "algorithms": CORE + ["calibrate", "data", "plan", "recipe", "run", "target"],
    "measure": CORE + ["calibrate", "data", "lower", "plan", "recipe", "run", "target"],
    "schedule": CORE + ["target"],
    "dialects": ["base", "tensor", "graph", "recipe", "plan"],
    "report": CORE + ["calibrate", "measure", "passes", "plan", "recipe", "target"],
}
ALLOWED["compile"] = sorted(set(ALLOWED) | {"report"})
ALLOWED["cli"] = sorted(set(ALLOWED) | {"compile"})

HEAVY = ["onnx/onnx_pb.h", "yaml-cpp/", "nlohmann/", "CLI/", "dnnl", "turbojpeg.h", "stb_image", "google/protobuf"]
VENDOR = re.compile(r"\b(hailo|horizon|synap|synaptics|snpe|qualcomm|qnn|tflite|onnxruntime)\b", re.I)
# Real -> integer, in every spelling: library calls, +0.5 and a cut, vector instructions.
ROUNDING = re.compile(r"\b(?:std::|__builtin_)?(?:(?:l?l?rint|l?l?round|nearbyint)[fl]?\s*\(|(?:floor|trunc)f?\s*\([^;]*0\.5[fF]?\s*\)|static_cast<(?:std::)?u?int\w*>\([^;]*[+-]\s*0\.5[fF]?\))"
                      r"|\b_mm\d*_(?:cvtp[sd]_epi32|round_p[sd]|roundscale_p[sd])\s*\(")
# Who may round, and why. Everybody else calls round_half_even, quantize or requantize.
ROUNDING_HOMES = {
    "tensor/quant_params.h": "real -> integer: the one home",
    "tensor/quant_params.cpp": "the same for whole tensors",
    "kernels/requantize.h": "integer -> integer: the other home",
    "tensor/fixed_point.cpp": "a real factor becomes a 31-bit multiplier",
    "kernels/requantize_row_avx2.cpp": "vector form of requantize.h, bits compared in its test",
    "kernels/requantize_row_avx512.cpp": "vector form of requantize.h, bits compared in its test",
    "kernels/elementwise_u8.cpp": "vector form of quantize(), bits compared in its test",
    "data/resize.cpp": "Pillow's fixed-point resampling, which rounds half away from zero",
}

def operator_names():
    names = set()
    for path in (SRC / "ops").glob("*.cpp"):
        names |= set(re.findall(r'\.name\s*=\s*"([A-Za-z]\w*)"', path.read_text()))
    return {n for n in names if n[0].isupper()}


def code_of(text):
    """Without comments (their words are free)."""
    return re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", "", text, flags=re.S))


def main():
    found = []
    heavy_users = {h: set() for h in HEAVY}
    rounds = set()
    names = operator_names()
    literal = re.compile('"(' + "|".join(sorted(names)) + ')"') if names else None
    for path in sorted(SRC.rglob("*")):
        if path.suffix not in (".h", ".cpp") or not path.is_file():
            continue
        rel = path.relative_to(SRC)
        folder, text = rel.parts[0], path.read_text()
        test = path.name.endswith("_test.cpp")
        for number, line in enumerate(text.splitlines(), 1):
            where = f"src/{rel}:{number}"
            include = re.match(r'\s*#include\s+[<"]([^>"]+)[>"]', line)
            if include:
                target = include.group(1)
                other = target.split("/")[0]
                if other in ALLOWED and other != folder and other not in ALLOWED.get(folder, []) and not test:
                    found.append(f"{where}: {folder}/ must not include {target}")
                for heavy in HEAVY:
                    if target.startswith(heavy) and not test:
                        heavy_users[heavy].add(str(rel))
            code = code_of(line)
            if test:
                continue
            if literal and folder not in ("ops", "model") and literal.search(code):
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
