"""Prints what the contract suite noted: doors by cases."""

import pathlib
import sys

notes = {}
libraries = {}
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    door, case = path.name.split(".", 1)
    result, library = path.read_text().split("\t", 1)
    notes[door, case] = result
    libraries[door] = library
doors = list(libraries)
cases = list(dict.fromkeys(case for _, case in notes))
width = max(map(len, cases), default=0)
columns = {door: max(len(door), len("MISSING")) for door in doors}
print(" " * width, *(f"{door:>{columns[door]}}" for door in doors))
reasons = []
for case in cases:
    row = []
    for door in doors:
        result = notes.get((door, case), "MISSING")
        if result.startswith("cannot"):
            reasons.append(f"{door}, {case}: {result}")
            result = "cannot"
        row.append(f"{result:>{columns[door]}}")
    print(f"{case:<{width}}", *row)
print()
for door in doors:
    print(f"{door}: {libraries[door]}")
for reason in reasons:
    print(reason)
bad = [key for key, result in notes.items() if not result.startswith(("passed", "cannot"))]
missing = len(doors) * len(cases) - len(notes)
sys.exit(1 if bad or missing or not notes else 0)
