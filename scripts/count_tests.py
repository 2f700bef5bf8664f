#!/usr/bin/env python3
"""Names the failed tests of ctest's result files, adds up, and prints
`N passed, N failed`.

usage: count_tests.py STAGE=EXIT_CODE=FILE...
A stage that ended badly without a failed test counts as one failure.
"""
import sys
import xml.etree.ElementTree


def count(path):
    """[passed, failed, skipped] of one JUnit file and its failed
    cases; nothing where the file cannot be read."""
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return [0, 0, 0], []
    total, failed = [0, 0, 0], []
    for case in root.iter("testcase"):
        status = case.get("status")
        # ctest: run, fail, and notrun or disabled for what was skipped.
        total[0 if status == "run" else 1 if status == "fail" else 2] += 1
        if status == "fail":
            failed.append(case)
    return total, failed


def last_lines(case, lines=40):
    """The end of what a test printed: where the reason stands."""
    output = case.findtext("system-out") or ""
    return "\n".join("  " + line for line in output.splitlines()[-lines:])


def main():
    passed = failed = skipped = 0
    for argument in sys.argv[1:]:
        name, code, path = argument.split("=", 2)
        counts, cases = count(path) if path else ([0, 0, 0], [])
        for case in cases:
            print(f"{name}: FAILED {case.get('name')}\n{last_lines(case)}")
        print(f"{name}: {counts[0]} passed, {counts[1]} failed, "
              f"{counts[2]} skipped")
        passed += counts[0]
        failed += counts[1] or (code != "0")
        skipped += counts[2]
    print(f"{passed} passed, {failed} failed" +
          (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
