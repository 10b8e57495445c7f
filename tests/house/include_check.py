#!/usr/bin/env python3
"""Checks the rules of the tree that a compiler does not.

  include_check.py [ROOT]        every finding is a line "file:line: what"; exit 1 if there is one
  include_check.py --self-test   shows that each rule can fail

Rules:
  - a room of hotrow/ includes only itself and rooms above it; the command line includes any room, no room includes it;
    nothing but tests includes tests/
  - project headers are included by their whole path, "hotrow/ROOM/FILE.h"
  - oneDNN is known to one file
  - a header starts with #pragma once and a comment that says what it is for
  - no file of code is longer than a reader can hold
  - in cli/ and in a room's tests no two files define the same name in unnamed namespaces: the sanitizer presets compile
    several of them as one
  - no text names a path of someone's machine, or the bookkeeping of how the work was organised
"""

import os
import re
import subprocess
import sys
import tempfile

# From top to bottom, as docs/ARCHITECTURE.md draws them.
ROOMS = ["base", "machine", "files", "trace", "comm", "sparse", "data", "plan", "optim", "embed", "dist", "sharded",
         "dense", "model", "train", "reference", "run", "measure"]
ONEDNN_FILE = "hotrow/dense/gemm.cc"
MAX_LINES = 450
CODE = (".h", ".cc", ".py", ".sh", ".cmake")
TEXT = CODE + (".md", ".txt", ".toml", ".json", ".yml")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Character classes, so that this file does not name what it forbids.
FORBIDDEN = [
    (re.compile(r"(^|[\s\"'(=:`])/(w[o]rk|h[o]me|r[o]ot|tmp/w[t])/"), "a path of one machine"),
    (re.compile(r"\b[Ii]ssue(s)? [A-Z]\b"), "a reference to how the work was organised"),
    (re.compile(r"\b(TO[D]O|FIX[M]E|XX[X])\b"), "unfinished work"),
]


def tracked_files(root):
    """Files that git knows or would add, relative to root; everything where there is no git."""
    try:
        out = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             check=True, capture_output=True).stdout.decode()
        return sorted(name for name in out.split("\0") if name and os.path.isfile(os.path.join(root, name)))
    except (OSError, subprocess.CalledProcessError):
        names = []
        for folder, folders, files in os.walk(root):
            folders[:] = [f for f in folders if f not in ("build", ".git", "shared")]
            names += [os.path.relpath(os.path.join(folder, f), root) for f in files]
        return sorted(names)


def room_of(name):
    """"embed" for hotrow/embed/table.h, "cli" for cli/main.cc, else None."""
    parts = name.split("/")
    if parts[0] == "cli":
        return "cli"
    if parts[0] == "hotrow" and len(parts) > 2:
        return parts[1]
    return None


def check_includes(name, lines, report):
    room = room_of(name)
    if room is not None and room != "cli" and room not in ROOMS:
        report(1, f"unknown room '{room}'; the rooms are {', '.join(ROOMS)}")
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        bracket, path = match.groups()
        if re.match(r"(oneapi/dnnl/)?dnnl[._a-z]*", path) and name != ONEDNN_FILE:
            report(number, f"only {ONEDNN_FILE} may include oneDNN (<{path}>)")
        if bracket != '"' or path.startswith("hwy/"):
            continue
        target = room_of(path)
        if target is None:
            if room is not None:
                report(number, f'"{path}" is not the whole path of a header of the project')
        elif target != "cli" and target not in ROOMS:
            report(number, f"\"{path}\": unknown room '{target}'")
        elif room is None or target == room or room == "cli":
            continue
        elif target == "cli" or ROOMS.index(target) > ROOMS.index(room):
            report(number, f"hotrow/{room}/ may not include \"{path}\": {target} is below {room}")


def check_header(lines, report):
    code = [line for line in lines if line.strip()]
    # A SIMD header is compiled once for each target and carries Highway's toggle instead.
    guarded = "#pragma once" in lines or any("HWY_TARGET_TOGGLE" in line for line in lines)
    if not guarded:
        report(1, "a header needs #pragma once")
    head = [line for line in code if not line.startswith("#pragma once")]
    if not head or not head[0].startswith("//"):
        report(1, "a header starts with a comment that says what it is for")


def check_text(name, lines, report):
    for number, line in enumerate(lines, 1):
        for pattern, what in FORBIDDEN:
            if pattern.search(line):
                report(number, f"{what}: {line.strip()[:80]}")
    if (name.endswith(CODE) or name.endswith("CMakeLists.txt")) and len(lines) > MAX_LINES:
        report(MAX_LINES + 1, f"{len(lines)} lines; split files above {MAX_LINES}")


# What stands at the start of a line in an unnamed namespace: a type, a function up to its parameters, a value.
DEFINITION = [
    re.compile(r"^(?:class|struct|enum|enum class|union) (\w+)\b(?! \w+\()(?!;)"),
    re.compile(r"^(?!using )(?:[\w:<>,&*]+ )+[&*]*(\w+\([^()]*(?:\([^()]*\)[^()]*)*\)?)"),
    re.compile(r"^(?!using |return |class |struct |enum )(?:[\w:<>,&*]+ )+(\w+)(?:\[\w*\])?(?: =|;|\{)"),
]


def unnamed_definitions(lines):
    """(line number, what is defined) of the unnamed namespaces of a file; of a function name and parameters."""
    inside = False
    for number, line in enumerate(lines, 1):
        if line in ("namespace {", "}  // namespace"):
            inside = line == "namespace {"
        if inside and line[:1].isalpha() and not line.startswith("TEST"):
            match = next(filter(None, (pattern.match(line) for pattern in DEFINITION)), None)
            if match:
                yield number, match.group(1)


def check_unnamed(name, lines, seen, report):
    folder = os.path.dirname(name)
    if not name.endswith(".cc") or not (folder == "cli" or folder.startswith("tests/")):
        return
    for number, what in unnamed_definitions(lines):
        first = seen.setdefault((folder, what), name)
        if first != name:
            report(number, f"{first} defines {what} too: one target's files may be compiled as one")


def check_tree(root):
    findings = []
    seen = {}
    for name in tracked_files(root):
        if not name.endswith(TEXT):
            continue
        with open(os.path.join(root, name), encoding="utf-8") as file:
            lines = file.read().splitlines()

        def report(number, what, name=name):
            findings.append(f"{name}:{number}: {what}")

        check_text(name, lines, report)
        if name.endswith((".h", ".cc")):
            check_includes(name, lines, report)
            check_unnamed(name, lines, seen, report)
        if name.endswith(".h"):
            check_header(lines, report)
    return findings


def self_test():
    head = "#pragma once\n// What it is for.\n"
    cases = [  # file, text, part of the finding expected; None: no finding
        ("hotrow/embed/a.h", head + '#include "hotrow/base/size.h"\n#include <vector>\n', None),
        ("hotrow/embed/a.cc", '#include "hotrow/embed/a.h"\n#include "hwy/foreach_target.h"\n', None),
        ("cli/a.cc", '#include "cli/flags.h"\n#include "hotrow/train/step.h"\n', None),
        ("tests/base/a.cc", '#include "hotrow/train/step.h"\n#include "helper.h"\n', None),
        ("hotrow/dense/gemm.cc", "#include <dnnl.hpp>\n", None),
        ("hotrow/base/a.h", head + '#include "hotrow/sparse/x.h"\n', "sparse is below base"),
        ("hotrow/embed/a.cc", ' #  include "hotrow/dense/x.h"\n', "dense is below embed"),
        ("hotrow/train/a.cc", '#include "cli/x.h"\n', "cli is below train"),
        ("hotrow/attic/a.cc", "int x;\n", "unknown room 'attic'"),
        ("hotrow/train/a.cc", '#include "hotrow/attic/x.h"\n', "unknown room 'attic'"),
        ("hotrow/train/a.cc", '#include "step.h"\n', "not the whole path"),
        ("cli/a.cc", '#include "hotrow/reference/reference_trainer.h"\n', None),
        ("cli/a.cc", '#include "tests/support/close.h"\n', "not the whole path"),
        ("hotrow/train/a.cc", '#include "hotrow/reference/reference_trainer.h"\n', "reference is below train"),
        ("hotrow/model/a.cc", "#include <dnnl.hpp>\n", "may include oneDNN"),
        ("hotrow/dense/gemm.h", head + "#include <oneapi/dnnl/dnnl.h>\n", "may include oneDNN"),
        ("tests/dense/a.cc", "#include <dnnl_types.h>\n", "may include oneDNN"),
        ("hotrow/base/a.h", "// What it is for.\nint x;\n", "#pragma once"),
        ("hotrow/base/a.h", "#pragma once\n\n#include <vector>\n", "starts with a comment"),
        ("hotrow/base/a.h", "", "starts with a comment"),
        ("hotrow/base/a-inl.h", "// SIMD.\n#if defined(X_) == defined(HWY_TARGET_TOGGLE)\n#endif\n", None),
        ("hotrow/base/a.cc", "int x;\n" * MAX_LINES, None),
        ("hotrow/base/a.cc", "int x;\n" * (MAX_LINES + 1), "split files"),
        ("docs/a.md", "line\n" * (MAX_LINES + 1), None),
        ("docs/a.md", "see /w" + "ork/shared\n", "a path of one machine"),
        ("run.sh", 'cd "/h' + 'ome/me/hotrow"\n', "a path of one machine"),
        ("docs/a.md", "the network/path of ho" + "me/wo" + "rk/pieces, and an iss" + "ue a user files\n", None),
        ("docs/a.md", "as iss" + "ue B says\n", "how the work was organised"),
        ("hotrow/base/a.cc", "// TO" + "DO: later\n", "unfinished work"),
    ]
    def unnamed(text):
        return "namespace {\n\n" + text + "\n}  // namespace\n"

    beside = unnamed("constexpr int kSize = 1;\nclass A : public B {\n};\nstd::vector<int> Of(int a, F<void(int)> f) {\n}\n"
                     "using Json = int;\nTEST(A, B) {\n}\nstd::atomic<bool> g_on = false;\nvoid Long(int a,\n")
    cases += [  # beside a file that defines those
        ("tests/base/a.cc", unnamed("const int kSize = 2;\n"), "defines kSize too"),
        ("cli/a.cc", unnamed("constexpr std::int64_t kSize{2};\n"), "defines kSize too"),
        ("tests/base/a.cc", unnamed("struct A {\n};\n"), "defines A too"),
        ("tests/base/a.cc", unnamed("std::vector<int> Of(int a, F<void(int)> f) {\n}\n"), "defines Of(int a, F<void(int)> f) too"),
        ("tests/base/a.cc", unnamed("std::atomic<int> g_on;\n"), "defines g_on too"),
        ("tests/base/a.cc", unnamed("std::vector<int> Of(int a) {\n}\nusing Json = int;\nTEST(A, B) {\n}\n"), None),
        ("tests/base/a.cc", "const int kSize = 2;\n", None),
        ("hotrow/base/a.cc", unnamed("const int kSize = 2;\n"), None),
    ]
    failures = 0
    for name, text, expected in cases:
        with tempfile.TemporaryDirectory() as root:
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            if text.startswith("namespace {"):
                with open(path.replace("a.cc", "0.cc"), "w", encoding="utf-8") as file:
                    file.write(beside)
            findings = check_tree(root)
        good = not findings if expected is None else any(expected in finding for finding in findings)
        if not good:
            failures += 1
            print(f"{name} with {text[:60]!r}: expected {expected!r}, found {findings}")
    print(f"{len(cases) - failures} of {len(cases)} cases as expected")
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 1 if self_test() else 0
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    findings = check_tree(root)
    print("\n".join(findings) if findings else "the tree keeps its rules")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
