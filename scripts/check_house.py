#!/usr/bin/env python3
"""Checks the include directions of the house against scripts/house.txt.

usage: check_house.py [ROOT]    prints file:line for each violation; exit 1
"""
import fnmatch
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".h", ".cpp", ".cu", ".cuh", ".inc"}
FACADE = "plimsoll"  # include/plimsoll, spelled "plimsoll/x.h"


class House:
    def __init__(self, text):
        self.rows = {}      # folder -> entries
        self.variants = []  # (folder, patterns, entries)
        self.calls = []     # (function names, folders)
        self.libraries = []  # (patterns, folders)
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            if ":" not in line:
                raise ValueError(f"house.txt:{number}: no colon")
            left, right = line.split(":", 1)
            words, entries = left.split(), right.split()
            variant = re.fullmatch(r"(\w+)\s*\((.*)\)", left.strip())
            if words[0] == "calls":
                self.calls.append((words[1:], entries))
            elif words[0] == "library":
                self.libraries.append((words[1:], entries))
            elif variant:
                self.variants.append(
                    (variant[1], variant[2].split(), entries))
            else:
                self.rows[words[0]] = entries
        for entries in [*self.rows.values(), *(v[2] for v in self.variants)]:
            for entry in entries:
                if entry != "*" and entry.split("/")[0] not in self.rows:
                    raise ValueError(f"house.txt: no row for {entry}")

    def variant_of(self, folder, inside):
        """The bracketed row that holds for folder/inside, or None."""
        for row in self.variants:
            name = inside.rsplit("/", 1)[-1]
            if row[0] == folder and any(
                    fnmatch.fnmatch(name, p) or fnmatch.fnmatch(inside, p)
                    for p in row[1]):
                return row
        return None

    def allowed(self, folder, inside):
        """Folders and single headers that folder/inside may include."""
        variant = self.variant_of(folder, inside)
        pending = list(variant[2] if variant else self.rows[folder])
        seen = {folder, "base", FACADE}
        while pending:
            entry = pending.pop()
            if entry == "*":
                return set(self.rows) | {FACADE}
            if entry not in seen:
                seen.add(entry)
                pending += self.rows.get(entry, [])
        return seen

    def may_include(self, folder, inside, target):
        head, _, tail = target.partition("/")
        allowed = self.allowed(folder, inside)
        if head == folder:
            theirs = self.variant_of(folder, tail)
            return theirs is None or theirs is self.variant_of(folder, inside)
        return head in allowed or target in allowed


def strip_comments(text):
    """Blanks comments and strings, keeping the lines."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
        re.DOTALL)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def check_text(house, folder, inside, text):
    """Yields (line, complaint). The facade is the folder `plimsoll`."""
    where = f"{folder}/{inside}"
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match[1], match[2]
        head = target.split("/")[0]
        if quote == "<":
            if folder == FACADE:
                # Standard headers have neither folder nor suffix.
                if head != FACADE and ("/" in target or "." in target):
                    yield number, f"the facade may not include <{target}>"
            for patterns, owners in house.libraries:
                if folder not in owners and any(
                        fnmatch.fnmatch(target, p) for p in patterns):
                    yield number, (f"<{target}> belongs to "
                                   f"{', '.join(owners) or 'the tests'}")
        elif head == FACADE:
            pass
        elif folder == FACADE:
            yield number, f'the facade may not include "{target}"'
        elif head not in house.rows or "/" not in target:
            yield number, (f'"{target}" does not begin with a folder of the '
                           "house")
        elif not house.may_include(folder, inside, target):
            yield number, f'{where} may not include "{target}"'
    bare = strip_comments(text)
    for names, owners in house.calls:
        if folder in owners:
            continue
        for match in re.finditer(r"(?<![\w.>:])(?:::)?(%s)\s*\(" %
                                 "|".join(names), bare):
            number = bare.count("\n", 0, match.start(1)) + 1
            yield number, f"only {', '.join(owners)} may call {match[1]}"


def check_tree(root):
    """Yields `file:line: complaint` for everything under root."""
    house = House((root / "scripts" / "house.txt").read_text())
    for top in ("src", "include"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SOURCES or not path.is_file():
                continue
            parts = path.relative_to(root / top).parts
            name = path.relative_to(root)
            if len(parts) < 2 or (parts[0] not in house.rows
                                  and (top, parts[0]) != ("include", FACADE)):
                yield f"{name}:1: not in a folder of the house"
                continue
            text = path.read_text(encoding="utf-8")
            for line, complaint in check_text(house, parts[0],
                                              "/".join(parts[1:]), text):
                yield f"{name}:{line}: {complaint}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    complaints = list(check_tree(root))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
